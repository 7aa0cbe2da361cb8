"""Batches put together byte by byte, so that tests of the decoder do not rest on our encoder."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from aiokafka.record.util import calc_crc32c as crc32c

from kafkawire.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LOG_APPEND_TIME", "batch", "message", "mixed", "mixed_messages", "record", "refresh_crc", "varint"]

LOG_APPEND_TIME = 0x08


def varint(number: int, size: int = 0) -> bytes:
    """Zigzag; with `size`, padded with continuation bytes to that many, which is legal."""
    raw = (number << 1) ^ (number >> 63)
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    while len(out) < size:
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    delta: int,
    value: bytes | None = b"value",
    key: bytes | None = None,
    timestamp: int = 0,
    headers: Sequence[tuple[bytes | None, bytes | None]] = (),
    *,
    attributes: int = 0,
    tail: bytes = b"",
    header_count: int | None = None,
) -> bytes:
    count = len(headers) if header_count is None else header_count
    body = bytes([attributes]) + varint(timestamp) + varint(delta) + _sized(key) + _sized(value) + varint(count)
    body += b"".join(_sized(name) + _sized(content) for name, content in headers) + tail
    return varint(len(body)) + body


def batch(
    records: Sequence[bytes] | bytes,
    *,
    base_offset: int = 0,
    base_timestamp: int = 1_700_000_000_000,
    max_timestamp: int = 1_700_000_000_999,
    last_delta: int | None = None,
    count: int | None = None,
    attributes: int = 0,
    leader_epoch: int = 7,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    body = records if isinstance(records, bytes) else b"".join(records)
    count = len(records) if count is None else count
    last_delta = count - 1 if last_delta is None else last_delta
    checked = struct.pack(">hiqqqhii", attributes, last_delta, base_timestamp, max_timestamp, *producer, count) + body
    return struct.pack(">qiibI", base_offset, len(checked) + 9, leader_epoch, 2, crc32c(checked)) + checked


def message(
    magic: int, offset: int, value: bytes | None = b"value", key: bytes | None = None, timestamp: int = 0, attributes: int = 0
) -> bytes:
    """A message of format 0 or 1."""
    checked = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for item in (key, value):
        checked += struct.pack(">i", -1) if item is None else struct.pack(">i", len(item)) + item
    return struct.pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked


def refresh_crc(data: bytearray) -> bytes:
    """One batch of format 2, damaged on purpose, with the checksum that belongs to it."""
    struct.pack_into(">I", data, 17, crc32c(data[21:]))
    return bytes(data)


def mixed(rows: int) -> bytes:
    """Null and empty keys and values, headers, gaps, two epochs, both kinds of timestamps."""
    first = [
        record(
            2 * row,
            None if row % 5 == 0 else b"v" * (row % 17),
            None if row % 3 == 0 else b"k%d" % (row % 4),
            row,
            [] if row % 4 else [(b"h", b"%d" % row), (b"h", None), (b"\xc3\xbc", b"")],
        )
        for row in range(rows)
    ]
    second = [record(row, b"w" * 20) for row in range(rows)]
    return batch(first, base_offset=100, base_timestamp=1000, leader_epoch=3) + batch(
        second, base_offset=100 + 2 * rows, attributes=LOG_APPEND_TIME, max_timestamp=9999, leader_epoch=4
    )


def mixed_messages(rows: int) -> list[Message]:
    """Messages in `mixed`, of topic "t" and partition 5."""
    first = [
        Message(
            "t",
            5,
            100 + 2 * row,
            1000 + row,
            0,
            None if row % 3 == 0 else b"k%d" % (row % 4),
            None if row % 5 == 0 else b"v" * (row % 17),
            () if row % 4 else (("h", b"%d" % row), ("h", None), ("ü", b"")),
            3,
        )
        for row in range(rows)
    ]
    return first + [Message("t", 5, 100 + 2 * rows + row, 9999, 1, None, b"w" * 20, (), 4) for row in range(rows)]

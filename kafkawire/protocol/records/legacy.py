"""Messages of formats 0 and 1, from before Kafka 0.11: written for old brokers, read since they are still on disks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from zlib import crc32

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.records.batches import RecordBatch, read_batches
from kafkawire.protocol.records.layout import (
    LEGACY_CRC_AT,
    LEGACY_CRC_FROM,
    LEGACY_HEADER,
    LEGACY_KEY_AT,
    LENGTH_END,
    UINT32,
)
from kafkawire.protocol.wire import Buffer

__all__ = ["Row", "encode_message_set", "offset_shift", "read_rows", "wrapped_set"]

Row = tuple[int, int, int, int, int, int, int, int]
"""Offset, timestamp, then start and end of the key, value and headers: the columns of RecordColumns."""

_INT32 = Struct(">i")
_INT64 = Struct(">q")
_OFFSET_AND_SIZE = Struct(">qi")


def encode_message_set(
    magic: int,
    records: Iterable[tuple[bytes | None, bytes | None, int | None]],
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
) -> bytes:
    """Messages of format `magic` (0 or 1) from keys, values and timestamps (ms; format 0 has none), offsets from 0.

    With a codec they become the value of one message, whose offset is that of the last (Java writes it so; trap 46).
    """
    rows = list(records)
    messages = b"".join(_encode_message(magic, at, 0, key, value, timestamp) for at, (key, value, timestamp) in enumerate(rows))
    if codec is Codec.NONE or not rows:
        return messages
    latest = max(-1 if timestamp is None else timestamp for _, _, timestamp in rows)
    return _encode_message(magic, len(rows) - 1, codec, None, compress(codec, messages, level, magic=magic), latest)


def _encode_message(
    magic: int, offset: int, attributes: int, key: bytes | None, value: bytes | None, timestamp: int | None
) -> bytes:
    message = bytearray(LEGACY_HEADER.size)
    if magic:
        message += _INT64.pack(-1 if timestamp is None else timestamp)
    for item in (key, value):
        message += _INT32.pack(-1 if item is None else len(item))
        message += item or b""
    LEGACY_HEADER.pack_into(message, 0, offset, len(message) - LENGTH_END, 0, magic, attributes)
    UINT32.pack_into(message, LEGACY_CRC_AT, crc32(memoryview(message)[LEGACY_CRC_FROM:]))
    return bytes(message)


def wrapped_set(batch: RecordBatch) -> memoryview:
    """The compressed set of messages that is the value of a message with a codec."""
    message = memoryview(batch.buffer)[batch.start : batch.end]
    _, _, start, end = _key_and_value(message, 0, len(message), batch.magic, batch.base_offset)
    if end < 0:
        raise CorruptRecordsError(f"the compressed message at offset {batch.base_offset} is null")  # trap 50
    return message[start:end]


def read_rows(batch: RecordBatch, data: bytes, start: int, end: int, shift: int) -> Iterator[Row]:
    """The rows of a message, or of the set that it wraps, between `start` and `end` of `data`.

    `shift` is the `offset_shift` of such a set.
    """
    if batch.codec is Codec.NONE:
        yield _row(data, start, end, batch.magic, batch.base_offset, batch.base_timestamp)
        return
    for message in read_batches(memoryview(data)[start:end], check_crcs=False):  # the outer checksum covers them
        if message.magic != batch.magic or message.codec is not Codec.NONE:  # trap 50
            raise CorruptRecordsError(f"a message in the compressed one at offset {batch.base_offset} is of another kind")
        timestamp = batch.base_timestamp if batch.timestamp_type == 1 else message.base_timestamp  # trap 48
        yield _row(data, start + message.start, start + message.end, batch.magic, message.base_offset + shift, timestamp)


def offset_shift(batch: RecordBatch, inner: Buffer) -> int:
    """Number to add to the offsets inside a compressed message, given the set that it unpacks to.

    Format 0 has absolute offsets (trap 47). In format 1 they are relative, and the outer offset is the last record's, gaps
    included; an outer offset of 0 comes from old librdkafka and means nothing (trap 46).
    """
    last = _last_offset(inner)
    if last is None:
        raise CorruptRecordsError(f"the compressed message at offset {batch.base_offset} holds a partial set")
    if batch.magic == 0 or batch.base_offset == 0:
        return 0
    if batch.base_offset < last:
        raise CorruptRecordsError(f"the compressed message at offset {batch.base_offset} has offset {last} inside")
    return batch.base_offset - last


def _last_offset(messages: Buffer) -> int | None:
    """The offset of the last message of a set; None if there is none, or the set is cut off."""
    at, last = 0, None
    end = len(messages) - LENGTH_END
    while at <= end:
        last, size = _OFFSET_AND_SIZE.unpack_from(messages, at)
        if size < 0:
            return None
        at += LENGTH_END + size
    return last if at == len(messages) else None


def _row(data: bytes, start: int, end: int, magic: int, offset: int, timestamp: int) -> Row:
    return offset, timestamp, *_key_and_value(data, start, end, magic, offset), end, end


def _key_and_value(data: Buffer, start: int, end: int, magic: int, offset: int) -> tuple[int, int, int, int]:
    """Start and end of the key and of the value, which must reach exactly to the end of the message."""
    at = start + LEGACY_KEY_AT[magic]
    spans: list[int] = []
    for name in ("key", "value"):
        size = _INT32.unpack_from(data, at)[0] if at + 4 <= end else -2
        at += 4
        if not -1 <= size <= end - at:
            raise CorruptRecordsError(f"the {name} of the message at offset {offset} has a size of {size}", offset=start)
        spans += (at, at + size if size >= 0 else -1)
        at += max(size, 0)
    if at != end:
        raise CorruptRecordsError(f"{end - at} bytes are left in the message at offset {offset}", offset=start)
    return spans[0], spans[1], spans[2], spans[3]

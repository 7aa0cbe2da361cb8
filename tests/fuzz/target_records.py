"""Record batches and message sets as they are fetched, and the records inside them behind sound headers and checksums."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kafkawire.errors import CorruptRecordsError, EncodeError, MissingDependencyError
from kafkawire.protocol.compression import Codec, available, compress
from kafkawire.protocol.records import (
    decode_columns,
    encode_columns,
    encode_message_set,
    messages,
    read_batches,
    seal_batch,
    to_arrow,
    values,
)
from tests.fuzz.runner import Target
from tests.protocol.records_by_hand import batch, message, mixed, record

if TYPE_CHECKING:
    from kafkawire.message import Header, Message
    from kafkawire.protocol.wire import Buffer

__all__ = ["TARGETS"]

LIMIT = 64 * 1024
"""Bytes that the batches of one input may unpack to."""

ROWS = [record(row, b"v" * row * 20, b"key" if row % 2 else None, row * 100, [(b"h", b"v"), (b"h", None)]) for row in range(4)]
FILLER = batch([record(row) for row in range(60)])
"""Behind a batch it makes the records enough for the way that reads them all at once."""

LEGACY_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


def codecs() -> list[Codec]:
    """Codecs that some installed library knows."""
    return [codec for codec, name in available().items() if name is not None]


def batch_seeds() -> list[bytes]:
    packed = [batch(compress(codec, b"".join(ROWS)), count=len(ROWS), attributes=codec) for codec in codecs() if codec]
    return [batch(ROWS), mixed(5), mixed(30), *packed, batch(ROWS, attributes=0x70) + packed[0]]


def message_set_seeds() -> list[bytes]:
    rows = [(b"key" if row % 2 else None, b"v" * row * 20 or None, row * 100) for row in range(4)]
    sets = [encode_message_set(magic, rows, codec=codec) for magic in (0, 1) for codec in LEGACY_CODECS]
    return [*sets, sets[0] + sets[-1] + batch(ROWS)]


def check_fetched(data: bytes) -> bool:
    """Any bytes are batches one after the other, or a CorruptRecordsError, and each batch is sound, or is one too.

    That holds with and without the checksums, for bytes and for views, and what was read can be written and read again.
    """
    read_all(data, check_crcs=True)
    found = read_all(data, check_crcs=False)
    assert found == read_all(memoryview(b"ab" + data)[2:], check_crcs=False)
    return bool(found)


def read_all(data: Buffer, *, check_crcs: bool) -> list[Message]:
    """The records of all sound batches."""
    end = 0
    found: list[Message] = []
    try:
        for each in read_batches(data, check_crcs=check_crcs):
            assert end == each.start < each.end <= len(data)
            end = each.end
            found += read_batch_or_nothing(data[each.start : each.end])
    except CorruptRecordsError:
        pass
    return found


def read_batch_or_nothing(data: Buffer) -> list[Message]:
    (each,) = read_batches(data, check_crcs=False)
    try:
        columns = decode_columns([each], limit=LIMIT)
        found = messages(columns, "t", 0)
    except CorruptRecordsError:
        return []
    assert each.count in (-1, len(found))
    assert values(columns) == [m.value for m in found]
    with contextlib.suppress(MissingDependencyError, EncodeError):  # no pyarrow; times that it has no room for
        assert to_arrow(columns, "t", 0, headers=True).column("value").to_pylist() == values(columns)
    again = messages(decode_columns(read_batches(write(found, each.magic))), "t", 0)
    assert list(map(content, again)) == list(map(content, found))
    return found


def write(found: list[Message], magic: int) -> bytes:
    if magic < 2:
        return encode_message_set(magic, [(m.key, m.value, m.timestamp) for m in found])
    if not found:
        return b""
    stamps = [content(m)[0] for m in found]
    columns = [m.value for m in found], [m.key for m in found], stamps, [m.headers for m in found]
    parts = encode_columns(*columns, base_timestamp=stamps[0])
    return bytes(seal_batch(parts, count=len(found), base_timestamp=stamps[0], max_timestamp=max(stamps)))


def content(found: Message) -> tuple[int, bytes | None, bytes | None, tuple[Header, ...]]:
    """Fields of a record that do not change when it is written again."""
    return -1 if found.timestamp is None else found.timestamp, found.key, found.value, found.headers


def record_seeds() -> list[bytes]:
    return [bytes([codec, len(ROWS)]) + b"".join(ROWS) for codec in codecs()] + [b"\0\0", b"\0\1" + ROWS[-1]]


def check_records(data: bytes) -> bool:
    """Any records in a sound batch are read or are a CorruptRecordsError, alone and with many behind them alike."""
    codec, count = Codec(data[0]), int.from_bytes(data[1:2])
    whole = batch(compress(codec, data[2:]), count=count, last_delta=max(count - 1, 0), attributes=codec)
    alone, among_many = read_or_none(whole), read_or_none(whole + FILLER)
    assert alone == (among_many and among_many[:-60])
    return alone is not None


def inner_set_seeds() -> list[bytes]:
    return [
        bytes([magic, codec]) + b"".join(message(magic, at, b"v" * at, b"key", timestamp=at) for at in range(3))
        for magic in (0, 1)
        for codec in LEGACY_CODECS[1:]
    ]


def check_inner_set(data: bytes) -> bool:
    """Any message set inside a sound compressed message is read or is a CorruptRecordsError."""
    magic, codec = data[0], Codec(data[1])
    return read_or_none(message(magic, 1000, compress(codec, data[2:], magic=magic), attributes=codec)) is not None


def read_or_none(data: bytes) -> list[Message] | None:
    try:
        return messages(decode_columns(read_batches(data), limit=LIMIT), "t", 0)
    except CorruptRecordsError:
        return None


TARGETS = (
    Target("batches", batch_seeds, check_fetched),
    Target("message-sets", message_set_seeds, check_fetched),
    Target("records", record_seeds, check_records, keep=1),
    Target("inner-message-sets", inner_set_seeds, check_inner_set, keep=2),
)

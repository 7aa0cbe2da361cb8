"""Writing record batches v2: single records, whole columns of them, and the sealed batch around either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from operator import add

from kafkawire.errors import EncodeError
from kafkawire.message import Header
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records.layout import (
    BATCH_HEADER,
    BATCH_OVERHEAD,
    CONTROL,
    CRC_AT,
    CRC_FROM,
    LENGTH_END,
    TRANSACTIONAL,
    UINT32,
)
from kafkawire.protocol.records.varints import VARINTS
from kafkawire.protocol.wire import Buffer

__all__ = ["encode_columns", "encode_record", "seal_batch"]

_NULL = VARINTS[-1]
_ATTRIBUTES = b"\0"
"""Of a record: unused (trap 39)."""
_NO_HEADERS = VARINTS[0]

_Column = bytes | Sequence[Buffer]
"""A piece of every record: the same for all, or one each."""
_USUAL = 1 << 14
"""Records that most batches have at most: the varints of their offset deltas are kept in a list."""
_Lengths = int | list[int]
"""In bytes: the same for all, or one each."""


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Iterable[Header] | None = None
) -> bytes:
    """One record with its length.

    `timestamp_delta` is in milliseconds after the batch's base timestamp. Raises TypeError for a key or value that is not
    bytes-like.
    """
    stamp = VARINTS[timestamp_delta]
    delta = VARINTS[offset_delta]
    key_size, key = (_NULL, b"") if key is None else (VARINTS[len(key)], key)
    size, value = (_NULL, b"") if value is None else (VARINTS[len(value)], value)
    tail = _encode_headers(headers) if headers else _NO_HEADERS
    length = VARINTS[1 + len(stamp) + len(delta) + len(key_size) + len(key) + len(size) + len(value) + len(tail)]
    return b"".join((length, _ATTRIBUTES, stamp, delta, key_size, key, size, value, tail))


def encode_columns(
    values: Sequence[Buffer | None],
    keys: Sequence[Buffer | None] | None = None,
    timestamps: Sequence[int] | int | None = None,
    headers: Sequence[Iterable[Header] | None] | None = None,
    *,
    base_timestamp: int,
    first_delta: int = 0,
) -> list[Buffer]:
    """The records of whole columns, numbered from `first_delta`.

    `timestamps` (ms) may be one for all; without them all have the base timestamp.
    The parts are not one a record: only their concatenation counts, as `seal_batch` makes it.
    """
    count = len(values)
    parts: list[Buffer] = []
    start = 0
    same = base_timestamp if timestamps is None else timestamps
    for end in _width_bounds(first_delta, count):
        rows = slice(start, end)
        parts += _encode_rows(
            _offset_deltas(first_delta + start, first_delta + end),
            _ATTRIBUTES + VARINTS[same - base_timestamp]
            if isinstance(same, int)
            else [_ATTRIBUTES + VARINTS[t - base_timestamp] for t in same[rows]],
            _NULL if keys is None else keys[rows],
            values[rows],
            _NO_HEADERS if headers is None else [_encode_headers(h) if h else _NO_HEADERS for h in headers[rows]],
        )
        start = end
    return parts


def _width_bounds(first: int, count: int) -> Iterable[int]:
    """Where the rows end whose offset deltas, counted from `first`, take 1, 2, 3, 4 and 5 bytes."""
    bounds = (min((1 << 7 * width - 1) - first, count) for width in range(1, 6))
    return sorted({bound for bound in bounds if bound > 0})


def _offset_deltas(start: int, end: int) -> list[bytes]:
    if end <= _USUAL:
        return _usual_deltas()[start:end]
    return list(map(VARINTS.__getitem__, range(start, end)))


@cache
def _usual_deltas() -> list[bytes]:
    return list(map(VARINTS.__getitem__, range(_USUAL)))


def _encode_rows(
    deltas: Sequence[bytes],
    stamps: _Column,
    keys: bytes | Sequence[Buffer | None],
    values: Sequence[Buffer | None],
    tails: _Column,
) -> list[Buffer]:
    """The records of rows whose offset deltas take the same number of bytes.

    Python touches no record on its own: each piece of all records is one column, and the columns are interleaved. With numpy
    it is slower: that lets go of the GIL at every copy, and a sender beside a busy thread waits up to 5 ms to get it back.
    """
    columns: list[_Column] = [stamps, deltas]
    lengths: list[_Lengths] = [_lengths(stamps), len(deltas[0])]
    for column in (keys, values):
        sizes, contents, taken = _sized(column)
        columns += (sizes, contents)
        lengths.append(taken)
    columns.append(tails)
    lengths.append(_lengths(tails))
    return _interleave([_varints(_sum(lengths)), *columns], len(deltas))


def _interleave(columns: Sequence[_Column], count: int) -> list[Buffer]:
    merged = _merge_constants(columns)
    parts: list[Buffer] = [b""] * (count * len(merged))
    for at, column in enumerate(merged):
        parts[at :: len(merged)] = [column] * count if isinstance(column, bytes) else column
    return parts


def _merge_constants(columns: Sequence[_Column]) -> list[_Column]:
    """The same with fewer columns, where neighbours are the same in all records."""
    merged: list[_Column] = []
    for column in columns:
        if merged and isinstance(column, bytes) and isinstance(merged[-1], bytes):
            merged[-1] += column
        else:
            merged.append(column)
    return merged


def _sized(column: bytes | Sequence[Buffer | None]) -> tuple[_Column, _Column, _Lengths]:
    """Keys or values: their lengths as they are written, themselves, and how many bytes both take."""
    if isinstance(column, bytes):
        return column, b"", len(column)
    try:
        lengths = list(map(len, column))  # type: ignore[arg-type]
    except TypeError:
        sizes = [_NULL if item is None else VARINTS[len(item)] for item in column]
        contents: list[Buffer] = [b"" if item is None else item for item in column]
        return sizes, contents, [len(size) + len(content) for size, content in zip(sizes, contents, strict=True)]
    if lengths.count(lengths[0]) == len(lengths):
        size = VARINTS[lengths[0]]
        return size, column, len(size) + lengths[0]  # type: ignore[return-value]
    taken = {length: len(VARINTS[length]) + length for length in set(lengths)}
    return _varints(lengths), column, list(map(taken.__getitem__, lengths))  # type: ignore[return-value]


def _lengths(column: _Column) -> _Lengths:
    return len(column) if isinstance(column, bytes) else list(map(len, column))


def _sum(lengths: Iterable[_Lengths]) -> _Lengths:
    """The length of every record, given those of its pieces."""
    common = 0
    varying: list[int] = []
    for piece in lengths:
        if isinstance(piece, int):
            common += piece
        else:
            varying = list(map(add, varying, piece)) if varying else piece
    return list(map(common.__add__, varying)) if varying else common


def _varints(numbers: _Lengths) -> _Column:
    return VARINTS[numbers] if isinstance(numbers, int) else list(map(VARINTS.__getitem__, numbers))


def _encode_headers(headers: Iterable[Header]) -> bytes:
    """Order and duplicates are kept (trap 37)."""
    parts: list[bytes] = []
    count = 0
    for name, value in headers:
        encoded = name.encode()
        parts += (VARINTS[len(encoded)], encoded)
        parts += (_NULL,) if value is None else (VARINTS[len(value)], value)
        count += 1
    return b"".join((VARINTS[count], *parts))


def seal_batch(
    parts: Iterable[Buffer],
    *,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """The whole batch of `count` encoded records, with base offset 0 and its checksum.

    Timestamps are in milliseconds, `max_timestamp` the true maximum (trap 34). Without an idempotent producer, its id,
    epoch and sequence are -1. Raises EncodeError for a batch of 2 GiB or more, and what `compress` raises.
    """
    header = bytes(BATCH_OVERHEAD)
    if codec is Codec.NONE:
        batch = bytearray().join([header, *parts])
    else:
        batch = bytearray().join((header, compress(codec, b"".join(parts), level)))
    if len(batch) > 0x7FFFFFFF:
        raise EncodeError(f"a batch of {len(batch)} bytes: the format ends at 2 GiB, send fewer records at once")
    BATCH_HEADER.pack_into(
        batch,
        0,
        0,  # base offset: the broker's to give
        len(batch) - LENGTH_END,
        -1,  # leader epoch: likewise
        2,
        0,
        codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0),
        count - 1,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    UINT32.pack_into(batch, CRC_AT, crc32c(memoryview(batch)[CRC_FROM:]))
    return batch

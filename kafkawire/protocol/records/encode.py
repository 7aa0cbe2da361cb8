"""Writing record batches v2: single records, whole columns of them, and the sealed batch around either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kafkawire.errors import EncodeError
from kafkawire.message import Header
from kafkawire.protocol.accelerators import Accelerated
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

__all__ = ["encode_columns", "encode_record", "record_parts", "seal_batch"]

_NULL = VARINTS[-1]
_ATTRIBUTES = b"\0"
"""Of a record: unused (trap 39)."""
_NO_HEADERS = VARINTS[0]

_Column = bytes | Sequence[Buffer]
"""A piece of every record: the same for all, or one each."""
_FEW = 32
"""Fewer records than that are not worth an array."""


def record_parts(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Iterable[Header] | None = None
) -> tuple[bytes, ...]:
    """One record with its length, in pieces for `seal_batch` to join: the value is not copied before that.

    `timestamp_delta` is in milliseconds after the batch's base timestamp. A key or value that is not bytes-like is noticed
    by whoever joins the parts.
    """
    stamp = VARINTS[timestamp_delta]
    delta = VARINTS[offset_delta]
    key_size, key = (_NULL, b"") if key is None else (VARINTS[len(key)], key)
    size, value = (_NULL, b"") if value is None else (VARINTS[len(value)], value)
    tail = _encode_headers(headers) if headers else _NO_HEADERS
    length = VARINTS[1 + len(stamp) + len(delta) + len(key_size) + len(key) + len(size) + len(value) + len(tail)]
    return length, _ATTRIBUTES, stamp, delta, key_size, key, size, value, tail


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Iterable[Header] | None = None
) -> bytes:
    """The same in one piece. Raises TypeError for a key or value that is not bytes-like."""
    return b"".join(record_parts(offset_delta, timestamp_delta, key, value, headers))


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
            list(map(VARINTS.__getitem__, range(first_delta + start, first_delta + end))),
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


def _encode_rows(
    deltas: Sequence[bytes],
    stamps: _Column,
    keys: bytes | Sequence[Buffer | None],
    values: Sequence[Buffer | None],
    tails: _Column,
) -> list[Buffer]:
    """The records of rows whose offset deltas take the same number of bytes.

    Python touches no record on its own: each piece of all records is one column, and the columns are interleaved.
    """
    count = len(deltas)
    key_columns = (keys,) if isinstance(keys, bytes) else _sized(keys)
    columns: list[_Column] = [stamps, deltas, *key_columns, *_sized(values), tails]
    lengths = _lengths(columns)
    columns = _merge_constants([lengths, *columns])
    if isinstance(lengths, bytes) and count >= _FEW:
        return _interleaver.get()(columns, count)
    return _interleave(columns, count)


def _interleave(columns: Sequence[_Column], count: int) -> list[Buffer]:
    parts: list[Buffer] = [b""] * (count * len(columns))
    for at, column in enumerate(columns):
        parts[at :: len(columns)] = [column] * count if isinstance(column, bytes) else column
    return parts


def _sized(column: Sequence[Buffer | None]) -> tuple[_Column, _Column]:
    """Keys or values and, before them, their lengths."""
    try:
        lengths = list(map(len, column))  # type: ignore[arg-type]
    except TypeError:
        present: list[Buffer] = [b"" if item is None else item for item in column]
        return [_NULL if item is None else VARINTS[len(item)] for item in column], present
    same = lengths.count(lengths[0]) == len(lengths)
    sizes: _Column = VARINTS[lengths[0]] if same else list(map(VARINTS.__getitem__, lengths))
    return sizes, column  # type: ignore[return-value]


def _lengths(columns: Sequence[_Column]) -> _Column:
    """The length of each record, from the columns of what is in it."""
    common = 0
    varying = []
    for column in columns:
        if isinstance(column, bytes):
            common += len(column)
            continue
        lengths = list(map(len, column))
        if lengths.count(lengths[0]) == len(lengths):
            common += lengths[0]
        else:
            varying.append(lengths)
    if not varying:
        return VARINTS[common]
    if len(varying) == 1:
        return [VARINTS[common + length] for length in varying[0]]
    return [VARINTS[common + sum(lengths)] for lengths in zip(*varying, strict=True)]


def _merge_constants(columns: Sequence[_Column]) -> list[_Column]:
    """The same with fewer columns, where neighbours are the same in all records."""
    merged: list[_Column] = []
    for column in columns:
        if merged and isinstance(column, bytes) and isinstance(merged[-1], bytes):
            merged[-1] += column
        else:
            merged.append(column)
    return merged


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


def _numpy() -> Callable[[Sequence[_Column], int], list[Buffer]]:
    from kafkawire.protocol.records.encode_numpy import interleave

    return interleave


def _pure() -> Callable[[Sequence[_Column], int], list[Buffer]]:
    return _interleave


_interleaver: Accelerated[Callable[[Sequence[_Column], int], list[Buffer]]] = Accelerated(
    "records of one size", ("numpy", _numpy), ("pure Python", _pure)
)

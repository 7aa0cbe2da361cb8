"""Columns as Arrow: values are gathered by Arrow itself, and Python touches no record unless it has headers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from kafkawire.errors import EncodeError
from kafkawire.message import Header
from kafkawire.protocol.records.columns import IntColumn, RecordColumns

__all__ = ["arrow_schema", "no_rows", "to_arrow"]

_MOST_BYTES = (1 << 31) - 1
"""Most bytes that the int32 offsets of Arrow's binary type can address (trap 136)."""
_MOST_MILLISECONDS = (1 << 63) // 1000 - 1

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_TIMESTAMP = pa.timestamp("us", "UTC")


@cache
def arrow_schema(headers: bool = False) -> pa.Schema:
    """The columns of `to_arrow`, all nullable."""
    fields = [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", _TIMESTAMP),
        ("timestamp_type", pa.int32()),
    ]
    return pa.schema([*fields, ("headers", pa.list_(_HEADER))] if headers else fields)


def no_rows(headers: bool = False) -> pa.RecordBatch:
    """A table without rows, with the columns of `to_arrow`."""
    return pa.RecordBatch.from_pylist([], schema=arrow_schema(headers))


def to_arrow(columns: RecordColumns, topic: str, partition: int, *, headers: bool = False) -> pa.RecordBatch:
    """A row for each record, with the columns of `arrow_schema(headers)`.

    Parts that a record lacks (key, value, timestamp and its type, headers) are null. Raises EncodeError where keys or values
    come to 2 GiB or more, or a timestamp does not fit microseconds; CorruptRecordsError for damaged headers.
    """
    make = _from_lists if isinstance(columns.offsets, list) else _from_arrays
    fields = make(columns, topic, partition)
    if headers:
        fields.append(_headers(columns))
    return pa.RecordBatch.from_arrays(fields, schema=arrow_schema(headers))


def _from_arrays(columns: RecordColumns, topic: str, partition: int) -> list[pa.Array]:
    """All columns but the headers, from numpy.

    Arrays are made from buffers throughout: `pa.array` and `pa.scalar` import pandas where it is installed, which takes
    longer than reading a million records.
    """
    import numpy as np

    count = columns.count
    stamps = np.asarray(columns.timestamps)
    missing = stamps == -1
    _check_range(stamps.min(initial=0), stamps.max(initial=0))
    name = topic.encode()
    _check_bytes(count * len(name))
    name_ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(name))
    types = np.repeat([run.timestamp_type for run, _ in columns.run_lengths()], [rows for _, rows in columns.run_lengths()])
    return [
        _gather(np, columns, columns.key_starts, columns.key_ends),
        _gather(np, columns, columns.value_starts, columns.value_ends),
        pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(name_ends), pa.py_buffer(name * count)]),
        _column(np, pa.int32(), np.full(count, partition, np.int32)),
        _column(np, pa.int64(), np.ascontiguousarray(columns.offsets, np.int64)),
        _column(np, _TIMESTAMP, stamps * 1000, missing),
        _column(np, pa.int32(), types.astype(np.int32), missing),
    ]


def _column(np: Any, kind: pa.DataType, numbers: Any, nulls: Any = None) -> pa.Array:
    """An Arrow array over a numpy array, null where `nulls` is true."""
    valid = None
    if nulls is not None and nulls.any():
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(numbers)])


def _gather(np: Any, columns: RecordColumns, starts: Any, ends: Any) -> pa.Array:
    """One contiguous array of the pieces of the buffer between starts and ends.

    The buffer is described as an array without a copy: piece, gap, piece, gap, ...; every other element is then taken.
    """
    count = columns.count
    nulls = ends < 0
    has_nulls = bool(nulls.any())
    if has_nulls:
        if nulls.all():
            return pa.nulls(count, pa.binary())
        ends = np.where(nulls, starts, ends)
    _check_bytes(int((ends - starts).sum()))
    offset_type, binary = (np.int32, pa.binary()) if len(columns.data) <= _MOST_BYTES else (np.int64, pa.large_binary())
    bounds = np.empty(2 * count, offset_type)
    bounds[0::2] = starts
    bounds[1::2] = ends
    pieces = pa.Array.from_buffers(binary, max(2 * count - 1, 0), [None, pa.py_buffer(bounds), pa.py_buffer(columns.data)])
    taken = pieces.take(_column(np, pa.int64(), np.arange(0, 2 * count, 2), nulls))
    return taken.cast(pa.binary())


def _from_lists(columns: RecordColumns, topic: str, partition: int) -> list[pa.Array]:
    """Arrays from lists, without numpy."""
    stamps = columns.timestamps
    _check_range(min(stamps, default=0), max(stamps, default=0))
    timestamps = pa.array([None if stamp == -1 else stamp * 1000 for stamp in stamps], _TIMESTAMP)
    return [
        _slices(columns, columns.key_starts, columns.key_ends),
        _slices(columns, columns.value_starts, columns.value_ends),
        pa.repeat(pa.scalar(topic, pa.string()), columns.count),
        pa.repeat(pa.scalar(partition, pa.int32()), columns.count),
        pa.array(columns.offsets, pa.int64()),
        timestamps,
        _timestamp_types(columns, timestamps),
    ]


def _slices(columns: RecordColumns, starts: IntColumn, ends: IntColumn) -> pa.Array:
    data = memoryview(columns.data)
    pieces = [None if end < 0 else data[start:end] for start, end in zip(starts, ends, strict=True)]
    _check_bytes(sum(len(piece) for piece in pieces if piece is not None))
    return pa.array(pieces, pa.binary())


def _timestamp_types(columns: RecordColumns, timestamp: pa.Array) -> pa.Array:
    runs = columns.run_lengths()
    if len(runs) == 1 and timestamp.null_count == 0:
        return pa.repeat(pa.scalar(runs[0][0].timestamp_type, pa.int32()), columns.count)
    kinds = zip(columns.timestamp_types, timestamp.is_valid().to_pylist(), strict=True)
    return pa.array([kind if valid else None for kind, valid in kinds], pa.int32())


def _headers(columns: RecordColumns) -> pa.Array:
    if not columns.has_headers:
        return pa.nulls(columns.count, pa.list_(_HEADER))
    rows = columns.all_headers()
    flat: Sequence[Header] = [header for row in rows for header in row]
    structs = pa.StructArray.from_arrays(
        [pa.array([name for name, _ in flat], pa.string()), pa.array([value for _, value in flat], pa.binary())],
        fields=list(_HEADER),
    )
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    mask = pa.array([not row for row in rows], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs, mask=mask)


def _check_bytes(total: int) -> None:
    if total > _MOST_BYTES:
        raise EncodeError(f"{total} bytes of keys or values do not fit one Arrow batch: slice the columns")


def _check_range(least: int, most: int) -> None:
    if least < -_MOST_MILLISECONDS or most > _MOST_MILLISECONDS:
        raise EncodeError(f"timestamps from {least} to {most} ms do not fit Arrow's microseconds")

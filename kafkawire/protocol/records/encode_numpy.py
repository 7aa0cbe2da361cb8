"""Records of one shape written with numpy, as rows of bytes: each field of many records at once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from kafkawire.protocol.records import encode_pure
from kafkawire.protocol.records.encode_pure import (
    NO_HEADERS,
    NULL,
    Batch,
    Columns,
    blocks,
    encode_header_name,
    offset_deltas,
    pair_columns,
    stamp_runs,
)
from kafkawire.protocol.records.layout import BATCH_OVERHEAD
from kafkawire.protocol.records.varints import VARINTS
from kafkawire.protocol.wire import Buffer

__all__ = ["encode"]

_ROWS = 500
"""Most records at once. With more, numpy releases the GIL in every copy; beside a busy thread it gets it back after 5 ms."""
_WORTH_ROWS = 150
"""Records with the same timestamp, on average, from which on rows pay."""
_MORE = 3
"""Bytes that the varints of a record may take more than those of the first."""
_WIDEST = 200
"""Bytes of a key, value or content of a header up to which rows pay. `_widen` works up to 253."""


def encode(columns: Columns, base_timestamp: int, first_delta: int) -> list[Buffer]:
    """Encode records as rows while they are of one shape, the others without numpy."""
    count = len(columns.values)
    batch = Batch()
    size, done = BATCH_OVERHEAD, 0
    runs = stamp_runs(columns.timestamps, base_timestamp, count, count // _WORTH_ROWS)
    for start, end, _, stamp in blocks(runs or (), first_delta, _ROWS):
        if not all(_seem_alike(column, start, end) for column in (columns.values, columns.keys) if column is not None):
            break
        rows = _encode_rows(columns.rows(start, end), stamp, offset_deltas(first_delta + start, first_delta + end))
        if rows is None:
            break
        if not done:
            # All the memory at once: growing it would copy the rows again and again.
            batch = Batch(BATCH_OVERHEAD + count * (len(rows) // (end - start) + _MORE))
        batch[size : size + len(rows)] = rows
        size += len(rows)
        done = end
    if not done:
        return encode_pure.encode(columns, base_timestamp, first_delta)
    del batch[size:]
    parts: list[Buffer] = [memoryview(batch)[BATCH_OVERHEAD:]]
    if done < count:
        parts += encode_pure.encode(columns.rows(done, count), base_timestamp, first_delta + done)
    return parts


def _encode_rows(columns: Columns, stamp: bytes, deltas: Sequence[bytes]) -> bytearray | None:
    """Encode records with one timestamp and offset deltas of one width as rows; None if the records are not of one shape."""
    pieces = _behind_delta(columns)
    if pieces is None:
        return None
    count, width = len(deltas), len(deltas[0])
    row = stamp + deltas[0]
    fields = [(len(stamp), _field(b"".join(deltas), 0, width, width, count))]
    for piece in pieces:
        if isinstance(piece, bytes):
            row += piece
            continue
        wide = _widen(piece)
        if wide is None:
            return None
        width = wide[0]
        row += VARINTS[width]
        if width:
            fields.append((len(row), _field(wide, 1, width, width + 2, count)))
            row += bytes(width)
    length = VARINTS[len(row)]
    row = length + row
    rows = bytearray(row * count)
    for at, field in fields:
        _field(rows, len(length) + at, field.itemsize, len(row), count)[:] = field
    return rows


def _behind_delta(columns: Columns) -> list[bytes | Sequence[Buffer | None]] | None:
    """Parts of a record behind the offset delta: columns, and constant bytes; None if the records are not of one shape."""
    values, keys, _, headers = columns
    pieces: list[bytes | Sequence[Buffer | None]] = [NULL if keys is None else keys, values]
    if headers is None:
        return [*pieces, NO_HEADERS]
    pairs = pair_columns(headers)
    if pairs is None:
        return None
    pieces.append(VARINTS[len(pairs)])
    for column in pairs:
        name, _ = column[0]
        contents = [content for other, content in column if other == name]
        if len(contents) < len(column):
            return None
        pieces += (encode_header_name(name), contents)
    return pieces


def _seem_alike(items: Sequence[Buffer | None], start: int, end: int) -> bool:
    """True if three sample records have one shape, so that a look at all records is worthwhile."""
    first, middle, last = items[start], items[(start + end) // 2], items[end - 1]
    if first is None or middle is None or last is None:
        return False
    return len(first) == len(middle) == len(last) <= _WIDEST


def _widen(items: Sequence[Buffer | None]) -> bytes | None:
    """Put each value behind its length byte, with one spare byte behind it; None unless all are bytes of one length.

    struct cuts longer values, and the spare byte shows it.
    """
    if not _seem_alike(items, 0, len(items)):
        return None
    width = len(items[0])  # type: ignore[arg-type]  # None is not alike
    try:
        wide = _struct(width, len(items)).pack(*items)
    except struct.error:
        return None
    return wide if wide[:: width + 2].count(width) == len(items) else None


@lru_cache(32)
def _struct(width: int, count: int) -> struct.Struct:
    return struct.Struct(f"{width + 2}p" * count)


def _field(data: bytes | bytearray, start: int, width: int, step: int, count: int) -> npt.NDArray[np.void]:
    """`width` bytes of every `step`, from `start` on."""
    return np.ndarray(count, f"V{width}", data, start, (step,))

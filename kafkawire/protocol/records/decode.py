"""From batches to columns: what is compressed is unpacked, all records lie in one buffer, and one pass reads them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.compression import Codec, decompress
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import RecordColumns, Run, SharedBytes
from kafkawire.protocol.records.layout import BATCH_OVERHEAD
from kafkawire.protocol.records.legacy import Row, read_rows, wrapped_set
from kafkawire.protocol.records.varints import INT64_BYTES, read_varint
from kafkawire.protocol.wire import Buffer

__all__ = ["DEFAULT_LIMIT", "Span", "decode_columns"]

DEFAULT_LIMIT = 256 * 1024 * 1024
"""Bytes that the compressed batches of one call may unpack to (trap 43)."""
_WORTH_NUMPY = 40
"""Below this many records the plain loop is faster."""
_NULL = 0x01
"""The length -1 as a varint."""
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1


class Span(NamedTuple):
    """A batch and where in the common buffer its records lie."""

    batch: RecordBatch
    start: int
    end: int


def decode_columns(batches: Iterable[RecordBatch], *, limit: int = DEFAULT_LIMIT) -> RecordColumns:
    """The records of several batches in order. Control batches are decoded like any other: leave them out.

    Uncompressed batches of one buffer are read where they lie. `limit` is the most bytes that the compressed ones may
    unpack to, together. Raises CorruptRecordsError for damaged records and for more than `limit`.
    """
    data, spans = _gather(list(batches), limit)
    rows = sum(span.batch.count for span in spans)
    if rows < _WORTH_NUMPY or any(span.batch.magic < 2 for span in spans):
        return _decode_plainly(data, spans)
    return _decoder.get()(data, spans)


def _gather(batches: Sequence[RecordBatch], limit: int) -> tuple[Buffer, list[Span]]:
    """One buffer with all the records, and where each batch has its own."""
    if not batches:
        return b"", []
    buffer = batches[0].buffer
    in_order = all(left.end <= right.start for left, right in pairwise(batches))
    if in_order and all(batch.codec is Codec.NONE and batch.buffer is buffer for batch in batches):
        first = 0 if isinstance(buffer, bytes) else batches[0].start
        data = buffer if isinstance(buffer, bytes) else memoryview(buffer)[first : batches[-1].end]
        return data, [Span(batch, _records_at(batch) - first, batch.end - first) for batch in batches]
    spans = []
    pieces: list[Buffer] = []
    at = 0
    for batch in batches:
        piece = _piece(batch, limit)
        limit -= len(piece) if batch.codec is not Codec.NONE else 0
        pieces.append(piece)
        spans.append(Span(batch, at, at + len(piece)))
        at += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), spans


def _records_at(batch: RecordBatch) -> int:
    """Where in its buffer the records of a batch begin; a message of formats 0 and 1 is its own record."""
    return batch.start + (BATCH_OVERHEAD if batch.magic == 2 else 0)


def _piece(batch: RecordBatch, limit: int) -> Buffer:
    if batch.codec is Codec.NONE:
        return memoryview(batch.buffer)[_records_at(batch) : batch.end]
    packed = memoryview(batch.buffer)[_records_at(batch) : batch.end] if batch.magic == 2 else wrapped_set(batch)
    if not packed and batch.count == 0:
        return b""
    return decompress(batch.codec, packed, limit=limit, magic=batch.magic)


def _decode_plainly(data: Buffer, spans: Sequence[Span]) -> RecordColumns:
    """One loop over all records, of any format."""
    shared = SharedBytes(data)
    text = shared.as_bytes()
    rows: list[Row] = []
    runs: list[Run] = []
    for span in spans:
        batch = span.batch
        add_run(runs, len(rows), batch)
        try:
            rows += read_rows(batch, text, span.start, span.end) if batch.magic < 2 else _read_v2(span, text)
        except IndexError:
            raise CorruptRecordsError(f"the last record of the batch at offset {batch.base_offset} is cut short") from None
    columns: list[list[int]] = list(map(list, zip(*rows, strict=True))) or [[] for _ in range(8)]
    offsets, timestamps, *_, header_starts, header_ends = columns
    if rows and not (
        0 <= min(offsets) <= max(offsets) <= _MAX_INT64 and _MIN_INT64 <= min(timestamps) <= max(timestamps) <= _MAX_INT64
    ):
        raise CorruptRecordsError(f"an offset or timestamp after offset {spans[0].batch.base_offset} is out of range")
    has_headers = any(end - start > 1 for start, end in zip(header_starts, header_ends, strict=True))
    return RecordColumns(shared, runs, has_headers, *columns)


def add_run(runs: list[Run], row: int, batch: RecordBatch) -> None:
    """Note that a batch's rows begin at `row`, unless it goes on like the one before."""
    if not runs or runs[-1][1:] != (batch.timestamp_type, batch.leader_epoch):
        runs.append(Run(row, batch.timestamp_type, batch.leader_epoch))


def _read_v2(span: Span, data: bytes) -> list[Row]:  # noqa: PLR0912, PLR0915 - see its docstring
    """The rows of a record batch v2. The common forms of each varint are read in place: a call costs as much as the rest."""
    batch = span.batch
    base_offset, base_timestamp = batch.base_offset, batch.base_timestamp
    rows: list[Row] = []
    append = rows.append
    at = span.start
    broker_time = batch.timestamp_type == 1
    for _ in range(batch.count):
        if (byte := data[at]) < 0x80:
            at += 1
            end = at + ((byte >> 1) ^ -(byte & 1))
        elif (high := data[at + 1]) < 0x80 and not byte & 1:
            at += 2
            end = at + (byte >> 1 & 0x3F | high << 6)
        else:
            size, at = read_varint(data, at)
            end = at + size
        at += 1  # the attributes, which are unused
        if (byte := data[at]) < 0x80:
            timestamp = base_timestamp + ((byte >> 1) ^ -(byte & 1))
            at += 1
        else:
            delta, at = read_varint(data, at, INT64_BYTES)
            timestamp = base_timestamp + delta
        if (high := data[at + 1]) < 0x80 <= (byte := data[at]) and not byte & 1:
            offset = base_offset + (byte >> 1 & 0x3F | high << 6)
            at += 2
        else:
            delta, at = read_varint(data, at)
            offset = base_offset + delta
        if data[at] == _NULL:
            at += 1
            key, key_end = at, -1
        else:
            size, key = read_varint(data, at)
            if size < 0:
                raise _corrupt(batch, offset)
            at = key_end = key + size
        if (high := data[at + 1]) < 0x80 <= (byte := data[at]) and not byte & 1:
            value = at + 2
            at = value_end = value + (byte >> 1 & 0x3F | high << 6)
        else:
            size, value = read_varint(data, at)
            if size >= 0:
                at = value_end = value + size
            elif size == -1:
                at, value_end = value, -1
            else:
                raise _corrupt(batch, offset)
        if (data[at] & 1 or at >= end) if data[at] else at + 1 != end:
            raise _corrupt(batch, offset)
        append((offset, batch.max_timestamp if broker_time else timestamp, key, key_end, value, value_end, at, end))
        at = end
    if at != span.end:
        raise CorruptRecordsError(f"the {batch.count} records of the batch at offset {base_offset} do not fill it")
    return rows


def _corrupt(batch: RecordBatch, offset: int) -> CorruptRecordsError:
    return CorruptRecordsError(f"the record at offset {offset} of the batch at {batch.base_offset} has wrong lengths")


def _numpy() -> Callable[[Buffer, Sequence[Span]], RecordColumns]:
    from kafkawire.protocol.records.decode_numpy import decode

    return decode


def _pure() -> Callable[[Buffer, Sequence[Span]], RecordColumns]:
    return _decode_plainly


_decoder: Accelerated[Callable[[Buffer, Sequence[Span]], RecordColumns]] = Accelerated(
    "record columns", ("numpy", _numpy), ("pure Python", _pure)
)

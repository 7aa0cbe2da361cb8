"""From batches to columns: what is compressed is unpacked, all records lie in one buffer, and one pass reads them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.compression import Codec, decompress
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import RecordColumns, Run, SharedBytes
from kafkawire.protocol.records.layout import BATCH_OVERHEAD
from kafkawire.protocol.records.legacy import read_rows, wrapped_set
from kafkawire.protocol.records.varints import HIGH_BITS, INT64_BYTES, LOW_BITS, ZIGZAG, read_varint
from kafkawire.protocol.wire import Buffer

__all__ = ["DEFAULT_LIMIT", "Span", "decode_columns"]

DEFAULT_LIMIT = 256 * 1024 * 1024
"""Bytes that the compressed batches of one call may unpack to (trap 43)."""
_WORTH_NUMPY = 40
"""Below this many records the plain loop is faster."""
_NULL = 0x01
"""The length -1 as a varint."""
_COLUMNS = 8
"""Of a record: those of `legacy.Row`."""
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
    fields: list[int] = []
    """The columns of the first record, then those of the second, ..."""
    runs: list[Run] = []
    has_headers = False
    for span in spans:
        batch = span.batch
        add_run(runs, len(fields) // _COLUMNS, batch)
        try:
            if batch.magic < 2:
                fields += chain.from_iterable(read_rows(batch, text, span.start, span.end))
            else:
                has_headers |= _read_v2(span, text, fields)
        except IndexError:
            raise CorruptRecordsError(f"the last record of the batch at offset {batch.base_offset} is cut short") from None
    columns = [fields[at::_COLUMNS] for at in range(_COLUMNS)]
    offsets, timestamps, *_ = columns
    if offsets and not (
        0 <= min(offsets) <= max(offsets) <= _MAX_INT64 and _MIN_INT64 <= min(timestamps) <= max(timestamps) <= _MAX_INT64
    ):
        raise CorruptRecordsError(f"an offset or timestamp after offset {spans[0].batch.base_offset} is out of range")
    return RecordColumns(shared, runs, has_headers, *columns)


def add_run(runs: list[Run], row: int, batch: RecordBatch) -> None:
    """Note that a batch's rows begin at `row`, unless it goes on like the one before."""
    if not runs or runs[-1][1:] != (batch.timestamp_type, batch.leader_epoch):
        runs.append(Run(row, batch.timestamp_type, batch.leader_epoch))


def _read_v2(span: Span, data: bytes, fields: list[int]) -> bool:  # noqa: C901, PLR0912, PLR0915 - see its docstring
    """Add the fields of a record batch v2; whether there are headers.

    The common forms of each varint are read in place: a call costs as much as the rest.
    """
    batch = span.batch
    base_offset, base_timestamp = batch.base_offset, batch.base_timestamp
    first, at = len(fields), span.start
    zigzag, low_bits, high_bits = ZIGZAG, LOW_BITS, HIGH_BITS
    has_headers = False
    for _ in range(batch.count):
        if (low := low_bits[data[at]]) is not None and (high := high_bits[data[at + 1]]) is not None:
            end = at + 2 + low + high
            at += 3  # with the attributes, which are unused
        elif (number := zigzag[data[at]]) is not None:
            end = at + 1 + number
            at += 2
        else:
            size, at = read_varint(data, at)
            end = at + size
            at += 1
        if (number := zigzag[data[at]]) is not None:
            timestamp = base_timestamp + number
            at += 1
        else:
            delta, at = read_varint(data, at, INT64_BYTES)
            timestamp = base_timestamp + delta
        if (low := low_bits[data[at]]) is not None and (high := high_bits[data[at + 1]]) is not None:
            offset = base_offset + low + high
            at += 2
        elif (number := zigzag[data[at]]) is not None:
            offset = base_offset + number
            at += 1
        else:
            delta, at = read_varint(data, at)
            offset = base_offset + delta
        if data[at] == _NULL:
            at += 1
            key, key_end = at, -1
        elif (number := zigzag[data[at]]) is not None and number >= 0:
            key = at + 1
            at = key_end = key + number
        else:
            size, key = read_varint(data, at)
            if size < 0:
                raise _corrupt(batch, offset)
            at = key_end = key + size
        if (low := low_bits[data[at]]) is not None and (high := high_bits[data[at + 1]]) is not None:
            value = at + 2
            at = value_end = value + low + high
        elif (number := zigzag[data[at]]) is not None and number >= 0:
            value = at + 1
            at = value_end = value + number
        else:
            size, value = read_varint(data, at)
            if size >= 0:
                at = value_end = value + size
            elif size == -1:
                at, value_end = value, -1
            else:
                raise _corrupt(batch, offset)
        if byte := data[at]:
            has_headers = True
            if byte & 1 or at >= end:
                raise _corrupt(batch, offset)
        elif at + 1 != end:
            raise _corrupt(batch, offset)
        fields += (offset, timestamp, key, key_end, value, value_end, at, end)
        at = end
    if at != span.end:
        raise CorruptRecordsError(f"the {batch.count} records of the batch at offset {base_offset} do not fill it")
    if batch.timestamp_type == 1:  # the broker's time
        fields[first + 1 :: _COLUMNS] = [batch.max_timestamp] * batch.count
    return has_headers


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

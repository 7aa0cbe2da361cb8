"""Columns without numpy: one loop over all records, of any format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import RecordColumns, Run, SharedBytes
from kafkawire.protocol.records.legacy import Row, read_rows
from kafkawire.protocol.records.spans import Span, add_run
from kafkawire.protocol.records.varints import HIGH_BITS, INT64_BYTES, LOW_BITS, ZIGZAG, read_varint

__all__ = ["decode"]

_NULL = 0x01
"""The length -1 as a varint."""
_COLUMNS = 8
"""Columns of a record: those of `legacy.Row`."""
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1


def decode(shared: SharedBytes, spans: Sequence[Span]) -> RecordColumns:
    """The records of all spans, in order."""
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
                fields += chain.from_iterable(_legacy_rows(span, text))
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


def _legacy_rows(span: Span, data: bytes) -> Iterable[Row]:
    rows = read_rows(span.batch, data, span.start, span.end, span.shift)
    return rows if span.records < 0 else islice(rows, span.records)


def _read_v2(span: Span, data: bytes, fields: list[int]) -> bool:  # noqa: C901, PLR0912, PLR0915 - see its docstring
    """Add the fields of a record batch v2; True if a record has headers.

    The common forms of each varint are read in place: a call costs as much as the rest.
    """
    batch = span.batch
    base_offset, base_timestamp = batch.base_offset, batch.base_timestamp
    first, at = len(fields), span.start
    zigzag, low_bits, high_bits = ZIGZAG, LOW_BITS, HIGH_BITS
    has_headers = False
    for _ in range(span.records):
        if (low := low_bits[byte := data[at]]) is not None and (high := high_bits[data[at + 1]]) is not None:
            end = at + 2 + low + high
            at += 3  # with the attributes, which are unused
        elif (number := zigzag[byte]) is not None:
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
        if (low := low_bits[byte := data[at]]) is not None and (high := high_bits[data[at + 1]]) is not None:
            offset = base_offset + low + high
            at += 2
        elif (number := zigzag[byte]) is not None:
            offset = base_offset + number
            at += 1
        else:
            delta, at = read_varint(data, at)
            offset = base_offset + delta
        if (byte := data[at]) == _NULL:
            at += 1
            key, key_end = at, -1
        elif (number := zigzag[byte]) is not None and number >= 0:
            key = at + 1
            at = key_end = key + number
        else:
            size, key = read_varint(data, at)
            if size < 0:
                raise _corrupt(batch, offset)
            at = key_end = key + size
        if (low := low_bits[byte := data[at]]) is not None and (high := high_bits[data[at + 1]]) is not None:
            value = at + 2
            at = value_end = value + low + high
        elif (number := zigzag[byte]) is not None and number >= 0:
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
    if at != span.end if span.is_last else at > span.end:
        raise CorruptRecordsError(f"the {batch.count} records of the batch at offset {base_offset} do not fill it")
    if batch.timestamp_type == 1:  # the broker's time
        fields[first + 1 :: _COLUMNS] = [batch.max_timestamp] * span.records
    return has_headers


def _corrupt(batch: RecordBatch, offset: int) -> CorruptRecordsError:
    return CorruptRecordsError(f"the record at offset {offset} of the batch at {batch.base_offset} has wrong lengths")

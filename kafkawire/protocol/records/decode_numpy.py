"""The records of many batches decoded at once with numpy: a loop finds where each begins, then each field is one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.records.columns import RecordColumns, Run, SharedBytes
from kafkawire.protocol.records.spans import Span, add_run
from kafkawire.protocol.records.varints import INT32_BYTES, INT64_BYTES, read_varint
from kafkawire.protocol.wire import Buffer

__all__ = ["decode"]

Ints = npt.NDArray[np.int64]

_FEW = 32
"""Records to look at before searching for more of the same size, and to pass by where they differ."""
_WORTH_COPYING = 512
"""Bytes per record below which a copy of the buffer costs less than indexing a memoryview once or twice per record."""

_STEPS = [1 + (byte >> 1) if byte < 0x80 else 2 + ((byte & 0x7F) >> 1) for byte in range(0x100)]
"""First byte of a record, whose length is in one byte or two -> that byte's part of the distance to the next record."""


def decode(shared: SharedBytes, spans: Sequence[Span]) -> RecordColumns:
    """Decode the columns of record batches v2."""
    counts = [span.records for span in spans]
    if len(shared.data) < _WORTH_COPYING * sum(counts):
        shared.as_bytes()
    starts, ends = _boundaries(shared.data, spans)
    fields = _Fields(np.frombuffer(shared.data, np.uint8))

    at = fields.skip(starts) + 1  # the length, and the attributes, which are unused
    timestamps, at = fields.read(at, INT64_BYTES)
    offsets, at = fields.read(at, INT32_BYTES)
    key_starts, key_ends, at = fields.read_span(at)
    value_starts, value_ends, at = fields.read_span(at)
    header_counts = fields.bytes_at(at)
    no_headers = header_counts == 0
    # No field ends before it starts, so checking the end of the last one checks all of them.
    _expect(at < ends, spans, "a record's fields do not fit its length")
    _expect((fields.bytes_at(starts) & 1 == 0) & (header_counts & 1 == 0), spans, "a length or count of a record is negative")
    _expect((ends - at == 1) | ~no_headers, spans, "bytes are left inside a record")

    runs: list[Run] = []
    row = 0
    for span, count in zip(spans, counts, strict=True):
        add_run(runs, row, span.batch)
        row += count
    return RecordColumns(
        shared,
        runs,
        not no_headers.all(),
        _offsets(offsets, spans, counts),
        _timestamps(timestamps, spans, counts),
        key_starts,
        key_ends,
        value_starts,
        value_ends,
        at,
        ends,
    )


def _boundaries(data: Buffer, spans: Sequence[Span]) -> tuple[Ints, Ints]:
    """Start and end of each record."""
    walk = _Walk(data)
    for span in spans:
        try:
            end = walk.over(span.start, span.records)
        except IndexError:
            end = -1
        if end != span.end if span.is_last else not span.start < end <= span.end:
            batch = span.batch
            raise CorruptRecordsError(f"the {batch.count} records of the batch at offset {batch.base_offset} do not fill it")
    marks = walk.marks()
    lasts = np.cumsum([span.records + 1 for span in spans])
    return np.delete(marks, lasts - 1), np.delete(marks, [0, *lasts[:-1]])


class _Walk:
    """Follows the lengths of records, the only chain in a batch, and marks where each begins and where the batch ends.

    Records of one size in a row are common, and are found many at once: if the lengths at equal steps are the same, then the
    steps are the records. Where the next few records differ in size, it pauses looking for such runs, ever longer.
    """

    def __init__(self, data: Buffer) -> None:
        self._data = data
        self._bytes = np.frombuffer(data, np.uint8)
        self._pieces: list[Ints] = []
        self._loose: list[int] = []

    def marks(self) -> Ints:
        self._flush()
        return np.concatenate(self._pieces)

    def over(self, at: int, count: int) -> int:
        """Walk over `count` records; returns where they end, or IndexError outside the data."""
        pause = _FEW
        while count:
            rows = 0
            if count > _FEW:
                rows, at = self._equal_sizes(at, count)
                pause = _FEW if rows >= _FEW else 2 * pause
                count -= rows
            if rows < _FEW:
                rows = min(count, pause)
                at = self._one_by_one(at, rows)
                count -= rows
        self._loose.append(at)
        return at

    def _equal_sizes(self, at: int, count: int) -> tuple[int, int]:
        """Number of records of the same size from `at` on, and where they end."""
        length, body = read_varint(self._data, at)
        step = body - at + length
        if step <= 0:
            raise IndexError
        count = min(count, (len(self._data) - body) // step + 1)
        found = 0
        probe = _FEW
        while found < count:
            probe = min(probe, count - found)
            begin, stop = at + found * step, at + (found + probe) * step
            same = self._bytes[begin:stop:step] == self._bytes[at]
            for digit in range(1, body - at):
                same &= self._bytes[begin + digit : stop : step] == self._bytes[at + digit]
            if not same.all():
                found += int(same.argmin())
                break
            found += probe
            probe *= 8
        self._flush()
        self._pieces.append(np.arange(at, at + found * step, step))
        return found, at + found * step

    def _one_by_one(self, at: int, count: int) -> int:
        data, steps = self._data, _STEPS
        append = self._loose.append
        for _ in range(count):
            append(at)
            if (byte := data[at]) < 0x80:
                at += steps[byte]
            elif (high := data[at + 1]) < 0x80:
                at += steps[byte] + (high << 6)
            else:
                length, at = read_varint(data, at)
                at += length
        return at

    def _flush(self) -> None:
        if self._loose:
            self._pieces.append(np.array(self._loose, np.int64))
            self._loose.clear()


class _Fields:
    """Reads one field of all records at once.

    Positions are clipped to the buffer, so that damaged lengths read the wrong byte and nothing else; the
    caller checks at last that every record's fields ended within the buffer.
    """

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        self._data = data

    def bytes_at(self, at: Ints) -> npt.NDArray[np.uint8]:
        return self._data.take(at, mode="clip")

    def skip(self, at: Ints) -> Ints:
        """Ends of the varints at `at`."""
        more = self.bytes_at(at) >= 0x80
        at = at + 1
        while more.any():
            goes_on = self.bytes_at(at) >= 0x80
            at += more
            more &= goes_on
        return at

    def read(self, at: Ints, most: int) -> tuple[Ints, Ints]:
        byte = self.bytes_at(at)
        at = at + 1
        more = byte >= 0x80
        if not more.any():
            value = byte.astype(np.int64)
            return (value >> 1) ^ -(value & 1), at
        raw = (byte & 0x7F).astype(np.uint64)
        for shift in range(7, 7 * most, 7):
            byte = self.bytes_at(at) * more
            at += more
            raw |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            more = byte >= 0x80
            if not more.any():
                return (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64), at
        raise CorruptRecordsError(f"a varint of more than {most} bytes")

    def read_span(self, at: Ints) -> tuple[Ints, Ints, Ints]:
        size, starts = self.read(at, INT32_BYTES)
        least = size.min()
        if least >= 0:
            ends = starts + size
            return starts, ends, ends.copy()
        if least < -1:
            raise CorruptRecordsError(f"a key or value of {least} bytes")
        null = size < 0
        after = starts + np.maximum(size, 0)
        return starts, np.where(null, -1, after), after


def _expect(good: npt.NDArray[np.bool_], spans: Sequence[Span], reason: str) -> None:
    if not good.all():
        row = int(good.argmin())
        ends = np.cumsum([span.records for span in spans])
        batch = spans[int(np.searchsorted(ends, row, side="right"))].batch
        raise CorruptRecordsError(f"{reason} in the batch at offset {batch.base_offset}")


def _offsets(deltas: Ints, spans: Sequence[Span], counts: Sequence[int]) -> Ints:
    """Offsets of the records as stored, gaps included (trap 31)."""
    offsets = _add(deltas, _each_row([span.batch.base_offset for span in spans], counts))
    _expect(offsets >= 0, spans, "an offset is negative")
    return offsets


def _timestamps(deltas: Ints, spans: Sequence[Span], counts: Sequence[int]) -> Ints:
    """Timestamps of the records; under LogAppendTime the batch's largest for all of its records (trap 35)."""
    by_broker = [span.batch.timestamp_type == 1 for span in spans]
    if any(by_broker):
        deltas = np.where(_each_row(by_broker, counts), 0, deltas)
    bases = [
        span.batch.max_timestamp if broker else span.batch.base_timestamp for span, broker in zip(spans, by_broker, strict=True)
    ]
    return _add(deltas, _each_row(bases, counts))


def _add(deltas: Ints, bases: Ints) -> Ints:
    """The sum; raises CorruptRecordsError if it wraps."""
    total = deltas + bases
    if (((bases ^ total) & (deltas ^ total)) < 0).any():
        raise CorruptRecordsError("an offset or timestamp is out of range")
    return total


def _each_row(values: Sequence[int], counts: Sequence[int]) -> Ints:
    """Repeat a value of each batch for each of its records."""
    return np.array(values, np.int64) if len(values) == 1 else np.repeat(np.array(values, np.int64), counts)

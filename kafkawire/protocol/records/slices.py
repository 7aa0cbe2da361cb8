"""Batches decoded slice by slice: a few kilobytes may unpack to a hundred megabytes or millions of records (trap 43)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkawire.errors import CorruptRecordsError, KafkaError
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import RecordColumns, SharedBytes
from kafkawire.protocol.records.decode import DEFAULT_LIMIT, decode_columns, decode_spans
from kafkawire.protocol.records.layout import SHORTEST_MESSAGE
from kafkawire.protocol.records.spans import Span, gather, open_batch, unpack
from kafkawire.protocol.wire import Buffer

__all__ = ["SLICE_BYTES", "SLICE_RECORDS", "Slice", "Unread"]

SLICE_BYTES = 4 << 20
"""Unpacked bytes that are decoded at once, where one record is not larger by itself."""
SLICE_RECORDS = 50_000
"""Most records that are decoded at once: each takes eight numbers, and perhaps objects."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A batch that is unpacked, and the records of it that have not been decoded."""

    shared: SharedBytes
    span: Span


@dataclass(frozen=True, slots=True)
class Slice:
    """The records of whole batches, or some of one batch."""

    columns: RecordColumns
    next_offset: int
    """Offset of the next record behind the slice."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Batches whose records have not been decoded. Immutable: `decode` returns the rest as a new object.

    `limit` is the most bytes that each compressed batch may unpack to.
    """

    batches: tuple[RecordBatch, ...]
    limit: int = DEFAULT_LIMIT
    opened: Opened | None = None
    """The first batch, if it is unpacked already."""

    @property
    def size(self) -> int:
        """Bytes that are held: the batches as received, and the unpacked records of one of them."""
        unpacked = 0 if self.opened is None else len(self.opened.shared.data)
        return sum(batch.size for batch in self.batches) + unpacked

    def decode(self) -> tuple[Slice, Unread | None]:
        """The first records, at most about SLICE_BYTES and SLICE_RECORDS of them, and the rest, None if nothing is left.

        Needs at least one batch. Raises CorruptRecordsError if the first is damaged or unpacks to more than the limit.
        """
        opened = self.opened if self.opened is not None else _open(self.batches[0], unpack(self.batches[0], self.limit))
        if opened.span.start or _exceeds(opened.span):
            return self._decode_part(opened)
        batches, pieces, ahead = self._gather(opened)
        try:
            columns = decode_spans(*gather(batches, pieces))
        except CorruptRecordsError:
            if len(batches) == 1:
                raise
            columns, batches, ahead = decode_columns(batches[:1], limit=self.limit), batches[:1], None
        return Slice(columns, batches[-1].next_offset), self._rest(len(batches), ahead)

    def _gather(self, first: Opened) -> tuple[list[RecordBatch], list[Buffer], Opened | None]:
        """Batches that make a slice, the records of each, and the next batch if it had to be unpacked to decide."""
        batches, pieces = [self.batches[0]], [first.shared.data]
        size, rows = len(first.shared.data), _most_rows(first.span)
        for batch in self.batches[1:]:
            if size >= SLICE_BYTES or rows + batch.count > SLICE_RECORDS:
                break
            try:
                piece = unpack(batch, self.limit)
                opened = _open(batch, piece) if batch.codec is not Codec.NONE else None
            except KafkaError:  # raised when the batch is the first of a slice
                break
            size += len(piece)
            rows += batch.count if opened is None else _most_rows(opened.span)
            if size > SLICE_BYTES or rows > SLICE_RECORDS:
                return batches, pieces, opened
            batches.append(batch)
            pieces.append(piece)
        return batches, pieces, None

    def _decode_part(self, opened: Opened) -> tuple[Slice, Unread | None]:
        span = opened.span
        told = span.batch.magic == 2
        count = min(SLICE_RECORDS, max(1, SLICE_BYTES * _most_rows(span) // max(1, span.end - span.start)))
        count = min(count, span.records) if told else count
        columns = decode_spans(opened.shared, [span._replace(records=count, is_last=count == span.records)])
        end = int(columns.header_ends[-1])
        if count == span.records if told else end == span.end:
            return Slice(columns, span.batch.next_offset), self._rest(1, None)
        left = span._replace(start=end, records=span.records - count if told else span.records)
        return Slice(columns, int(columns.offsets[-1]) + 1), replace(self, opened=Opened(opened.shared, left))

    def _rest(self, done: int, opened: Opened | None) -> Unread | None:
        return Unread(self.batches[done:], self.limit, opened) if done < len(self.batches) else None


def _open(batch: RecordBatch, piece: Buffer) -> Opened:
    return Opened(SharedBytes(piece), open_batch(batch, piece))


def _most_rows(span: Span) -> int:
    """Number of records of a span, or an upper bound for a compressed message of formats 0 and 1, which does not have it."""
    return span.records if span.records >= 0 else (span.end - span.start) // SHORTEST_MESSAGE[span.batch.magic]


def _exceeds(span: Span) -> bool:
    """True if the records are more than a slice may hold; a single record never is."""
    return _most_rows(span) > 1 and (span.end - span.start > SLICE_BYTES or _most_rows(span) > SLICE_RECORDS)

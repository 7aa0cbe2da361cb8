"""What was fetched and not handed out yet.

An interrupt may come between any two calls, and must not lose a record: so what a consumer has is one immutable object, and
handing out or adding records is one store that replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kafkawire.core.partition import PartitionState
from kafkawire.message import Message
from kafkawire.protocol.records import RecordBatch, RecordColumns, decode_columns, messages

__all__ = ["Buffer", "Segment"]


class Segment:
    """Some batches of one partition, decoded when the first of their records is asked for.

    `limit` is the most bytes that the compressed ones may unpack to.
    """

    __slots__ = ("_batches", "_columns", "_limit", "_messages", "epoch", "next_offset", "size", "start", "state")

    def __init__(self, state: PartitionState, start: int, batches: list[RecordBatch], limit: int) -> None:
        self.state = state
        self.epoch = state.epoch
        self.start = start
        self.next_offset = batches[-1].next_offset
        self.size = sum(batch.size for batch in batches)
        self._batches = batches
        self._limit = limit
        self._columns: RecordColumns | None = None
        self._messages: list[Message] | None = None

    @property
    def batches(self) -> int:
        """How many batches it has."""
        return len(self._batches)

    def divided(self) -> Iterator[Segment]:
        """A segment for each batch, to find the one that is damaged or over the limit by itself."""
        start = self.start
        for batch in self._batches:
            yield Segment(self.state, start, [batch], self._limit)
            start = batch.next_offset

    @property
    def stale(self) -> bool:
        """Whether the partition has been sought, paused or taken away since."""
        return self.epoch != self.state.epoch

    def columns(self) -> RecordColumns:
        """The records from `start` on; a batch may begin before it (trap 40). Raises CorruptRecordsError."""
        columns = self._columns
        if columns is None:
            # Control batches hold markers, not records (trap 79).
            batches = [batch for batch in self._batches if not batch.is_control]
            columns = decode_columns(batches, limit=self._limit)
            if columns.count and columns.offsets[0] < self.start:
                columns = columns.slice(columns.index_of(self.start), columns.count)
            self._columns = columns
        return columns

    def messages(self) -> list[Message]:
        """The same as objects."""
        made = self._messages
        if made is None:
            made = self._messages = messages(self.columns(), *self.state.tp)
        return made

    def position(self, row: int) -> int:
        """The offset to go on at when the rows before `row` have been handed out."""
        if row == 0:
            return self.start
        columns = self.columns()
        return int(columns.offsets[row]) if row < columns.count else self.next_offset


@dataclass(frozen=True, slots=True)
class Buffer:
    """Segments in the order in which they are handed out, from row `row` of the first on."""

    segments: tuple[Segment, ...] = ()
    row: int = 0
    last: dict[PartitionState, Segment] = field(default_factory=dict)
    """The last segment of each partition."""

    def add(self, segments: Iterable[Segment]) -> Buffer:
        """With what an answer brought."""
        kept = tuple(segment for segment in self.segments if not segment.stale)
        row = self.row if kept and kept[0] is self.segments[0] else 0
        return Buffer.of((*kept, *segments), row)

    def after(self, index: int, row: int) -> Buffer:
        """What is left when everything before row `row` of segment `index` has been handed out."""
        return Buffer.of(self.segments[index:], row)

    def divided(self, index: int) -> Buffer:
        """With a segment for each batch of segment `index`, of which nothing has been handed out."""
        segments = (*self.segments[:index], *self.segments[index].divided(), *self.segments[index + 1 :])
        return Buffer.of(segments, self.row)

    @staticmethod
    def of(segments: tuple[Segment, ...], row: int) -> Buffer:
        return Buffer(segments, row, {segment.state: segment for segment in segments})

    def size(self) -> int:
        """Bytes that are held, to be handed out."""
        return sum(segment.size for segment in self.segments if not segment.stale)

    def holds(self, state: PartitionState) -> bool:
        """Whether there is something of a partition that will be handed out."""
        last = self.last.get(state)
        return last is not None and not last.stale

    def end(self, state: PartitionState) -> int | None:
        """Where the next fetch of a partition starts; None if its position is not known."""
        last = self.last.get(state)
        return state.position if last is None or last.stale else last.next_offset

    def position(self, state: PartitionState) -> int | None:
        """The next offset of a partition to be handed out."""
        row = self.row
        for segment in self.segments:
            if segment.state is state and not segment.stale:
                return segment.position(row)
            row = 0
        return state.position

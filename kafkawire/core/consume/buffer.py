"""Fetched records that were not handed out yet, as immutable values.

An interrupt may come between any two calls, and must not lose a record: so a consumer has one `Buffer`, which is never changed,
and handing out or adding records is one store that replaces it. `core.consume.collector` does both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.message import Message
from kafkawire.protocol.records import RecordBatch, RecordColumns, Unread, decode_columns, messages

__all__ = ["Buffer", "Fetched", "FetchedBatches", "FetchedRecords"]

NO_RECORDS = decode_columns(())


class _FetchedOffsets:
    """Offsets of one partition that were fetched: from `start` up to, and without, `next_offset`."""

    __slots__ = ("next_offset", "revision", "size", "start", "state")

    def __init__(self, state: PartitionState, start: int, next_offset: int, size: int) -> None:
        self.state = state
        self.revision = state.revision
        self.start = start
        self.next_offset = next_offset
        self.size = size
        """Bytes that it holds."""

    @property
    def stale(self) -> bool:
        """True if the partition was sought, paused or taken away after the fetch."""
        return self.revision != self.state.revision


class FetchedBatches(_FetchedOffsets):
    """Batches as they came. Their first records are decoded when they are asked for, and nothing before."""

    __slots__ = ("_unread",)

    def __init__(self, state: PartitionState, start: int, next_offset: int, unread: Unread) -> None:
        super().__init__(state, start, next_offset, unread.size)
        self._unread = unread

    @classmethod
    def of(cls, state: PartitionState, start: int, batches: Sequence[RecordBatch], limit: int) -> FetchedBatches:
        """Hold the records of these batches, each of which may unpack to `limit` bytes."""
        # Control batches hold markers, not records (trap 79).
        records = tuple(batch for batch in batches if not batch.is_control)
        return cls(state, start, batches[-1].next_offset, Unread(records, limit))

    def decoded(self) -> tuple[Fetched, ...]:
        """Decode the first records; returns them and the rest. Raises CorruptRecordsError if the first batch is damaged."""
        if not self._unread.batches:
            return (FetchedRecords(self.state, self.start, self.next_offset, NO_RECORDS),)
        made, rest = self._unread.decode()
        columns = made.columns
        if columns.count and columns.offsets[0] < self.start:  # a batch may begin before (trap 40)
            columns = columns.slice(columns.index_of(self.start), columns.count)
        if rest is None:
            return (FetchedRecords(self.state, self.start, self.next_offset, columns),)
        middle = max(self.start, made.next_offset)
        return (
            FetchedRecords(self.state, self.start, middle, columns),
            FetchedBatches(self.state, middle, self.next_offset, rest),
        )

    def position(self, row: int) -> int:
        """Offset of the first record; there are no rows before it is decoded."""
        return self.start


class FetchedRecords(_FetchedOffsets):
    """Records as columns, and as messages once those are asked for."""

    __slots__ = ("_messages", "columns")

    def __init__(self, state: PartitionState, start: int, next_offset: int, columns: RecordColumns) -> None:
        super().__init__(state, start, next_offset, columns.size)
        self.columns = columns
        self._messages: list[Message] | None = None

    def messages(self) -> list[Message]:
        """Make messages of the columns, once."""
        made = self._messages
        if made is None:
            made = self._messages = messages(self.columns, *self.state.tp)
        return made

    def position(self, row: int) -> int:
        """Offset to go on at when the rows before `row` have been handed out."""
        if row == 0:
            return self.start
        return int(self.columns.offsets[row]) if row < self.columns.count else self.next_offset


Fetched: TypeAlias = FetchedBatches | FetchedRecords


@dataclass(frozen=True, slots=True)
class Buffer:
    """Fetched records in the order in which they are handed out, from row `row` of the first piece on. Never changed."""

    pieces: tuple[Fetched, ...] = ()
    row: int = 0
    last: dict[PartitionState, Fetched] = field(default_factory=dict)
    """Last piece of each partition."""

    def add(self, pieces: Iterable[Fetched]) -> Buffer:
        """Return a buffer with the pieces of an answer at its end, and without those that are stale."""
        kept = tuple(piece for piece in self.pieces if not piece.stale)
        row = self.row if kept and kept[0] is self.pieces[0] else 0
        return Buffer.of((*kept, *pieces), row)

    def after(self, index: int, row: int) -> Buffer:
        """Return a buffer without everything before row `row` of piece `index`."""
        return Buffer.of(self.pieces[index:], row)

    def replaced(self, index: int, pieces: Iterable[Fetched]) -> Buffer:
        """Return a buffer with others in place of piece `index`, of which nothing has been handed out."""
        return Buffer.of((*self.pieces[:index], *pieces, *self.pieces[index + 1 :]), self.row)

    @staticmethod
    def of(pieces: tuple[Fetched, ...], row: int) -> Buffer:
        return Buffer(pieces, row, {piece.state: piece for piece in pieces})

    def size(self) -> int:
        """Bytes that are held, to be handed out."""
        return sum(piece.size for piece in self.pieces if not piece.stale)

    def holds(self, state: PartitionState) -> bool:
        """True if there is something of a partition that will be handed out."""
        last = self.last.get(state)
        return last is not None and not last.stale

    def fetch_offset(self, state: PartitionState) -> int | None:
        """Offset at which the next fetch of a partition starts; None if its position is not known."""
        last = self.last.get(state)
        return state.position if last is None or last.stale else last.next_offset

    def position(self, state: PartitionState) -> int | None:
        """Offset of a partition's next record to be handed out; None if its position is not known."""
        row = self.row
        for piece in self.pieces:
            if piece.state is state and not piece.stale:
                return piece.position(row)
            row = 0
        return state.position

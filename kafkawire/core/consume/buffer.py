"""What was fetched and not handed out yet.

An interrupt may come between any two calls, and must not lose a record: so what a consumer has is one immutable object, and
handing out or adding records is one store that replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kafkawire.core.consume.subscription import PartitionState
from kafkawire.message import Message
from kafkawire.protocol.records import RecordBatch, RecordColumns, Unread, decode_columns, messages

__all__ = ["Buffer", "FetchedRecords", "Packed", "Piece"]

NO_RECORDS = decode_columns(())


class _Piece:
    """Something of one partition that was fetched and not handed out: offsets from `start` up to `next_offset`."""

    __slots__ = ("epoch", "next_offset", "size", "start", "state")

    def __init__(self, state: PartitionState, start: int, next_offset: int, size: int) -> None:
        self.state = state
        self.epoch = state.epoch
        self.start = start
        self.next_offset = next_offset
        self.size = size
        """Bytes that it holds."""

    @property
    def stale(self) -> bool:
        """Whether the partition has been sought, paused or taken away since."""
        return self.epoch != self.state.epoch

    def position(self, row: int) -> int:
        """The offset to go on at when the rows before `row` have been handed out."""
        return self.start


class Packed(_Piece):
    """Batches as they came. The first of their records are decoded when they are asked for, and nothing before."""

    __slots__ = ("_unread",)

    def __init__(self, state: PartitionState, start: int, next_offset: int, unread: Unread) -> None:
        super().__init__(state, start, next_offset, unread.size)
        self._unread = unread

    @classmethod
    def of(cls, state: PartitionState, start: int, batches: Sequence[RecordBatch], limit: int) -> Packed:
        """The records of these batches, each of which may unpack to `limit` bytes."""
        # Control batches hold markers, not records (trap 79).
        records = tuple(batch for batch in batches if not batch.is_control)
        return cls(state, start, batches[-1].next_offset, Unread(records, limit))

    def opened(self) -> tuple[Piece, ...]:
        """The first records, and what is left. Raises CorruptRecordsError if the first batch is damaged."""
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
            Packed(self.state, middle, self.next_offset, rest),
        )


class FetchedRecords(_Piece):
    """Records as columns, and as objects once those are asked for."""

    __slots__ = ("_messages", "columns")

    def __init__(self, state: PartitionState, start: int, next_offset: int, columns: RecordColumns) -> None:
        super().__init__(state, start, next_offset, columns.size)
        self.columns = columns
        self._messages: list[Message] | None = None

    def messages(self) -> list[Message]:
        """The same as objects."""
        made = self._messages
        if made is None:
            made = self._messages = messages(self.columns, *self.state.tp)
        return made

    def position(self, row: int) -> int:
        if row == 0:
            return self.start
        return int(self.columns.offsets[row]) if row < self.columns.count else self.next_offset


Piece: TypeAlias = Packed | FetchedRecords


@dataclass(frozen=True, slots=True)
class Buffer:
    """Pieces in the order in which they are handed out, from row `row` of the first on."""

    pieces: tuple[Piece, ...] = ()
    row: int = 0
    last: dict[PartitionState, Piece] = field(default_factory=dict)
    """The last piece of each partition."""

    def add(self, pieces: Iterable[Piece]) -> Buffer:
        """With what an answer brought."""
        kept = tuple(piece for piece in self.pieces if not piece.stale)
        row = self.row if kept and kept[0] is self.pieces[0] else 0
        return Buffer.of((*kept, *pieces), row)

    def after(self, index: int, row: int) -> Buffer:
        """The buffer without everything before row `row` of piece `index`."""
        return Buffer.of(self.pieces[index:], row)

    def replaced(self, index: int, pieces: Iterable[Piece]) -> Buffer:
        """With others in place of piece `index`, of which nothing has been handed out."""
        return Buffer.of((*self.pieces[:index], *pieces, *self.pieces[index + 1 :]), self.row)

    @staticmethod
    def of(pieces: tuple[Piece, ...], row: int) -> Buffer:
        return Buffer(pieces, row, {piece.state: piece for piece in pieces})

    def size(self) -> int:
        """Bytes that are held, to be handed out."""
        return sum(piece.size for piece in self.pieces if not piece.stale)

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
        for piece in self.pieces:
            if piece.state is state and not piece.stale:
                return piece.position(row)
            row = 0
        return state.position

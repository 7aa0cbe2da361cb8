"""Handing out fetched records: as messages, as Arrow batches, and one by one to those who iterate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import Any, NamedTuple

from kafkawire.config import ConsumerOptions
from kafkawire.core.consume.buffer import Buffer, Fetched, FetchedRecords
from kafkawire.core.consume.deserialization import Deserializers, Messages
from kafkawire.core.consume.fetch_request import located
from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.errors import DeserializationError, KafkaError
from kafkawire.message import Message, TopicPartition
from kafkawire.net.base import NEVER, Net
from kafkawire.protocol.records import SLICE_BYTES, RecordColumns, to_arrow

__all__ = ["FetchCollector"]

ARROW_ROWS = 10_000
"""Rows below which `take_arrow` looks for more fetched records to put into one batch."""


class Rows(NamedTuple):
    """Rows that come next in the buffer, and where the buffer begins once they are handed out."""

    parts: list[tuple[FetchedRecords, int, int]]
    """Records, with the first row and the row behind the last."""
    next_piece: int
    """Piece of the buffer at which the rows end."""
    next_row: int
    """Row of that piece at which they end."""


class FetchCollector:
    """The only writer of the buffer of fetched records, and the only one that hands them out.

    Used in the flow of the consumer's caller only. An interrupt may come at any call, loop and entry of a function, and loses
    no record and hands none out twice:

    - Records leave the buffer with the store of another buffer, and the function does nothing after that store but return.
    - Records that were given to `upcoming` stay in the buffer until `settle`, which counts those that were handed out.
    """

    def __init__(self, net: Net, options: ConsumerOptions) -> None:
        self._net = net
        self._max_poll_records = options["max_poll_records"]
        self._max_bytes = options["fetch_max_bytes"]
        self._deserializers = Deserializers(options)
        self._buffer = Buffer()
        self._ahead: Messages = []
        """Messages behind `upcoming`."""
        self.upcoming: Iterator[Message[Any, Any]] = iter(self._ahead)
        """Next messages for those who iterate; advanced by them, and ended by every other way of reading or seeking.

        An iterator of a list: advancing it is one step of the interpreter, which no interrupt can divide, and it knows how many
        messages it has left. Others may hold it after it has ended; `take_ahead` makes another.
        """

    # ---- the buffer

    def add(self, pieces: Iterable[Fetched]) -> None:
        """Append the records of an answer to the buffer."""
        self._buffer = self._buffer.add(pieces)

    def clear(self) -> None:
        """Forget everything that was fetched."""
        self._buffer = Buffer()
        del self._ahead[:]

    def is_full(self) -> bool:
        """True if the buffer holds fetch_max_bytes: nothing is to be fetched meanwhile."""
        return self._buffer.size() >= self._max_bytes

    def holds(self, state: PartitionState) -> bool:
        """True if something of a partition is fetched and will be handed out."""
        return self._buffer.holds(state)

    def fetch_offset(self, state: PartitionState) -> int | None:
        """Offset at which the next fetch of a partition starts; None if its position is not known."""
        return self._buffer.fetch_offset(state)

    def position(self, state: PartitionState) -> int | None:
        """Offset of a partition's next record to be handed out; None if its position is not known. After `settle` only."""
        return self._buffer.position(state)

    # ---- handing out

    def take(self, max_records: int, deadline: float) -> Messages:
        """Take up to `max_records` messages that are here; fewer where decoding more would go past the deadline.

        Raises CorruptRecordsError or DeserializationError if the first record is damaged or cannot be deserialized.
        """
        self.settle()
        messages, left = self._next_messages(max_records, deadline)
        self._buffer = left
        return messages

    def take_arrow(self, max_records: int, headers: bool, deadline: float) -> Any:
        """Take up to `max_records` records that are here as a pyarrow.RecordBatch; None for none. Raises as `take`."""
        self.settle()
        rows = self._next_rows(max_records, ARROW_ROWS, deadline)
        parts = []
        for records, first, end in rows.parts:
            columns = records.columns
            parts.append((columns if end - first == columns.count else columns.slice(first, end), records.state.tp))
        batch = _arrow_batch(parts, headers)
        left = self._buffer_after(rows)
        self._buffer = left
        return batch

    def take_ahead(self, deadline: float) -> bool:
        """Make `upcoming` of messages that are here; False if there are none. Raises as `take`."""
        self.settle()
        messages, left = self._next_messages(self._max_poll_records, deadline)
        if not messages:
            self._buffer = left
            return False
        upcoming = iter(messages)
        self._ahead = messages
        self.upcoming = upcoming
        return True

    def has_upcoming(self) -> bool:
        """True if there is a next message for those who iterate."""
        return length_hint(self.upcoming) > 0

    def settle(self) -> None:
        """Take off the buffer what `upcoming` has handed out, and end it: every other call then finds things as they are."""
        if self._ahead:
            handed_out = len(self._ahead) - length_hint(self.upcoming)
            left = self._buffer_after(self._next_rows(handed_out, handed_out, NEVER))
            # No calls from here on: both are done or neither.
            self._buffer = left
            del self._ahead[:]

    def _next_messages(self, max_records: int, deadline: float) -> tuple[Messages, Buffer]:
        """Make messages of up to `max_records` rows; returns them and the buffer without them."""
        rows = self._next_rows(max_records, max_records, deadline)
        messages: Messages = []
        for records, first, end in rows.parts:
            messages += records.messages()[first:end]
        try:
            messages = self._deserializers.apply(messages)
        except DeserializationError as error:
            readable = messages.index(error.message)
            if readable == 0:
                raise
            return self._next_messages(readable, deadline)
        return messages, self._buffer_after(rows)

    def _next_rows(self, max_rows: int, enough: int, deadline: float) -> Rows:
        """Find up to `max_rows` rows, decoding what is not decoded yet.

        Nothing more is looked for once there are `enough` rows, or fetch_max_bytes of them, or if time is up: answers are no
        larger, but what they unpack to is. What is damaged, or cannot be unpacked here, raises once it comes first.
        """
        buffer = self._buffer
        found: list[tuple[FetchedRecords, int, int]] = []
        count, size, decoded = 0, 0, 0
        index, row = 0, buffer.row
        while index < len(buffer.pieces) and count < min(max_rows, enough) and size < self._max_bytes:
            piece = buffer.pieces[index]
            if piece.stale:
                index, row = index + 1, 0
            elif isinstance(piece, FetchedRecords):
                end = min(piece.columns.count, row + max_rows - count)
                if end > row:
                    found.append((piece, row, end))
                    count += end - row
                    size += piece.size
                if end < piece.columns.count:
                    return Rows(found, index, end)
                index, row = index + 1, 0
            elif decoded > SLICE_BYTES and self._net.now() >= deadline:
                break
            else:
                try:
                    pieces = piece.decoded()
                except KafkaError as error:
                    if found:
                        break
                    raise located(error, piece.state.tp, piece.start) from None
                decoded += pieces[0].size
                self._buffer = buffer = buffer.replaced(index, pieces)
        return Rows(found, index, row)

    def _buffer_after(self, rows: Rows) -> Buffer:
        """Return the buffer behind some rows, and have positions ready for when it is stored."""
        buffer = self._buffer
        for piece in buffer.pieces[: rows.next_piece]:
            if not piece.stale:
                piece.state.advance(piece.next_offset)
        return buffer.after(rows.next_piece, rows.next_row)


def _arrow_batch(parts: list[tuple[RecordColumns, TopicPartition]], headers: bool) -> Any:
    """Make one pyarrow.RecordBatch of some columns; None for none of them."""
    batches = [to_arrow(columns, *tp, headers=headers) for columns, tp in parts]
    if len(batches) <= 1:
        return batches[0] if batches else None
    import pyarrow as pa

    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]

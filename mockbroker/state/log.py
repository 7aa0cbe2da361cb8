"""Log of one partition: encoded batches, found by offset, size or timestamp, and joined without decoding."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.protocol import records
from mockbroker.state.waiting import Watchers

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = ["NO_EPOCH_END", "Batch", "EpochEnd", "PartitionLog", "TimestampedOffset"]

_LEADER_EPOCH = Struct(">i")
_LEADER_EPOCH_AT = 12
_MAGIC_AT = 16


@dataclass(slots=True)
class Batch:
    """Stored batch: of format 2, or one message of the old formats with the messages that it wraps."""

    data: bytes
    """Bytes as consumers get them; never changed once they are in the log."""
    last_offset: int
    max_timestamp: int
    """Latest timestamp in milliseconds; -1 for none."""

    @property
    def magic(self) -> int:
        return self.data[_MAGIC_AT]

    @property
    def leader_epoch(self) -> int:
        """Epoch of the leader that appended the batch; -1 in formats without it."""
        if self.magic < 2:
            return -1
        epoch: int = _LEADER_EPOCH.unpack_from(self.data, _LEADER_EPOCH_AT)[0]
        return epoch


class TimestampedOffset(NamedTuple):
    """Record as ListOffsets answers it."""

    offset: int
    timestamp: int
    leader_epoch: int


class EpochEnd(NamedTuple):
    """End of a leader epoch: the offset behind its last record."""

    epoch: int
    offset: int


NO_EPOCH_END = EpochEnd(-1, -1)
"""End of an epoch that the log does not know."""


class PartitionLog:
    """Batches of one partition in offset order, with the indexes to find them.

    batches: where they are kept, empty at first (`Store.log`).
    """

    __slots__ = ("_batches", "_epochs", "_last_offsets", "_latest", "_positions", "changed", "log_start_offset", "modified_ms")

    def __init__(self, batches: MutableSequence[Batch]) -> None:
        self.log_start_offset = 0
        """Offset of the first record that has not been deleted."""
        self.modified_ms = -1
        """Time of the last append, in milliseconds since the epoch; -1 before the first one."""
        self.changed = Watchers()
        """Woken by appends and by whatever else a fetch must see: leader and replica moves, deletion, another start."""
        self._batches = batches
        self._last_offsets: list[int] = []
        self._positions: list[int] = []
        """Position in bytes behind each batch, counted from the first batch ever appended."""
        self._epochs: list[tuple[int, int]] = []
        """Leader epochs and the offset with which each began, ascending in both."""
        self._latest: Batch | None = None
        """First batch with the latest timestamp of all. It counts even when its records are deleted, as in Kafka."""

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(len(batch.data) for batch in self._batches)

    @property
    def log_end_offset(self) -> int:
        """Offset that the next record will get."""
        return self._last_offsets[-1] + 1 if self._last_offsets else self.log_start_offset

    @property
    def high_watermark(self) -> int:
        """Offset behind the last record that all in-sync replicas have.

        That is the log end offset: followers have no logs of their own here, so an append is committed at once.
        """
        return self.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        """Offset of the first record of the oldest open transaction, or the high watermark while none is open (KIP-98).

        There are no transactions here yet, so it is the high watermark.
        """
        return self.high_watermark

    def append(self, batch: Batch) -> None:
        """Append a batch whose offsets continue the log."""
        self._positions.append(len(batch.data) + (self._positions[-1] if self._positions else 0))
        self._last_offsets.append(batch.last_offset)
        self._batches.append(batch)
        if self._latest is None or batch.max_timestamp > self._latest.max_timestamp:
            self._latest = batch

    def delete_before(self, offset: int) -> None:
        """Move the log start offset to an offset within the log, and delete the batches that end before it."""
        self.log_start_offset = offset
        gone = bisect_left(self._last_offsets, offset)
        del self._batches[:gone], self._last_offsets[:gone], self._positions[:gone]
        kept = [(epoch, max(begin, offset)) for epoch, begin in self._epochs]
        self._epochs = [each for place, each in enumerate(kept) if place + 1 == len(kept) or kept[place + 1][1] > offset]
        self.changed.wake()

    def begin_epoch(self, epoch: int) -> None:
        """Begin a leader epoch, to which all further appends belong. An epoch without records is forgotten."""
        while self._epochs and self._epochs[-1][1] >= self.log_end_offset:
            self._epochs.pop()
        self._epochs.append((epoch, self.log_end_offset))

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Find the end of the latest epoch up to this one; NO_EPOCH_END if the log has not come so far (KIP-101, KIP-279)."""
        if epoch < 0 or not self._epochs or epoch > self._epochs[-1][0]:
            return NO_EPOCH_END
        if epoch == self._epochs[-1][0]:
            return EpochEnd(epoch, self.log_end_offset)
        later = bisect_right(self._epochs, epoch, key=lambda begun: begun[0])
        return EpochEnd(self._epochs[later - 1][0] if later else epoch, self._epochs[later][1])

    def leader_epoch_at_start(self) -> int:
        """Leader epoch at the log start offset; -1 for a log that never had a leader."""
        return self._epochs[0][0] if self._epochs else -1

    def batches(self, offset: int) -> Sequence[Batch]:
        """Batches from the one that holds `offset` on."""
        return self._batches[bisect_left(self._last_offsets, offset) :]

    def size_between(self, offset: int, end: int) -> int:
        """Bytes of the batches from the one that holds `offset` up to the offset `end`."""
        first, behind = bisect_left(self._last_offsets, offset), bisect_left(self._last_offsets, end)
        if first >= behind:
            return 0
        return self._positions[behind - 1] - self._positions[first] + len(self._batches[first].data)

    def first_size(self, offset: int, end: int) -> int:
        """Bytes of the batch that holds `offset`; 0 if that is not before `end`."""
        first = bisect_left(self._last_offsets, offset)
        return len(self._batches[first].data) if offset < end and first < len(self._batches) else 0

    def read(self, offset: int, max_bytes: int, end: int) -> Buffer:
        """Read batches from the one that holds `offset` (trap 40) up to the offset `end`.

        They are cut off at `max_bytes` even inside one, as in Kafka.
        """
        first, behind = bisect_left(self._last_offsets, offset), bisect_left(self._last_offsets, end)
        if first >= behind:
            return b""
        head = self._batches[first].data
        limit = self._positions[first] - len(head) + max_bytes
        past = bisect_right(self._positions, limit, first, behind)
        parts: list[Buffer] = [batch.data for batch in self._batches[first:past]]
        if past < behind:
            begin = self._positions[past] - len(self._batches[past].data)
            parts.append(memoryview(self._batches[past].data)[: limit - begin])
        return head if len(parts) == 1 and past > first else b"".join(parts)

    def first_since(self, timestamp: int) -> TimestampedOffset | None:
        """First record with this timestamp or a later one."""
        for batch in self._batches:
            found = _first_in(batch, timestamp, self.log_start_offset) if batch.max_timestamp >= timestamp else None
            if found is not None:
                return found
        return None

    def latest_timestamp(self) -> TimestampedOffset | None:
        """First of the records with the greatest timestamp."""
        return None if self._latest is None else _first_in(self._latest, self._latest.max_timestamp)


def _first_in(batch: Batch, timestamp: int, start: int = 0) -> TimestampedOffset | None:
    columns = records.decode_columns(list(records.read_batches(batch.data)))
    for offset, at in zip(columns.offsets, columns.timestamps, strict=True):
        if at >= timestamp and offset >= start:
            return TimestampedOffset(int(offset), int(at), batch.leader_epoch)
    return None

"""The log of one partition: encoded batches, found by offset, size or time, and joined without decoding."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
    """One stored entry: a v2 batch, or one message of the old formats with whatever it wraps."""

    data: bytes
    """Never changed once it is in the log."""
    last_offset: int
    max_timestamp: int
    """Milliseconds; -1 for none."""

    @property
    def magic(self) -> int:
        return self.data[_MAGIC_AT]

    @property
    def leader_epoch(self) -> int:
        """Of the leader that appended it; -1 in formats that do not record it."""
        if self.magic < 2:
            return -1
        epoch: int = _LEADER_EPOCH.unpack_from(self.data, _LEADER_EPOCH_AT)[0]
        return epoch


class TimestampedOffset(NamedTuple):
    """A record as ListOffsets answers it."""

    offset: int
    timestamp: int
    leader_epoch: int


class EpochEnd(NamedTuple):
    """Where a leader epoch ended: the offset behind its last record."""

    epoch: int
    offset: int


NO_EPOCH_END = EpochEnd(-1, -1)
"""Of an epoch that the log does not know."""


class PartitionLog:
    """Batches in offset order. Replicas have no logs of their own, so what is appended is committed at once."""

    __slots__ = ("_batches", "_ends", "_epochs", "_last_offsets", "_latest", "changed", "modified_ms", "start")

    def __init__(self) -> None:
        self.start = 0
        """The log start offset."""
        self.modified_ms = -1
        """When something was last appended, in milliseconds since the epoch; -1 for never."""
        self.changed = Watchers()
        """Woken by appends and by whatever else a fetch must see: leader and replica moves, deletion, another start."""
        self._batches: list[Batch] = []
        self._last_offsets: list[int] = []
        self._ends: list[int] = []
        """Position in bytes behind each batch, counted from the first ever appended."""
        self._epochs: list[tuple[int, int]] = []
        """Leader epochs and the offset with which each began, ascending in both."""
        self._latest: Batch | None = None
        """The first batch with the latest time of all; it counts even when its records are deleted, as in Kafka."""

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(len(batch.data) for batch in self._batches)

    @property
    def end(self) -> int:
        """The offset that the next record will get; the high watermark and the last stable offset too."""
        return self._last_offsets[-1] + 1 if self._last_offsets else self.start

    def append(self, batch: Batch) -> None:
        """Add a batch whose offsets continue the log."""
        self._ends.append(len(batch.data) + (self._ends[-1] if self._ends else 0))
        self._last_offsets.append(batch.last_offset)
        self._batches.append(batch)
        if self._latest is None or batch.max_timestamp > self._latest.max_timestamp:
            self._latest = batch

    def delete_before(self, offset: int) -> None:
        """Move the start to an offset within the log, and forget the batches that end before it."""
        self.start = offset
        gone = bisect_left(self._last_offsets, offset)
        del self._batches[:gone], self._last_offsets[:gone], self._ends[:gone]
        kept = [(epoch, max(begin, offset)) for epoch, begin in self._epochs]
        self._epochs = [each for place, each in enumerate(kept) if place + 1 == len(kept) or kept[place + 1][1] > offset]
        self.changed.wake()

    def begin_epoch(self, epoch: int) -> None:
        """A leader has been elected: what is appended from now on is of its epoch. An epoch without records is forgotten."""
        while self._epochs and self._epochs[-1][1] >= self.end:
            self._epochs.pop()
        self._epochs.append((epoch, self.end))

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Where the latest epoch up to this one ended; NO_EPOCH_END if the log has not come so far (KIP-101, KIP-279)."""
        if epoch < 0 or not self._epochs or epoch > self._epochs[-1][0]:
            return NO_EPOCH_END
        if epoch == self._epochs[-1][0]:
            return EpochEnd(epoch, self.end)
        later = bisect_right(self._epochs, epoch, key=lambda begun: begun[0])
        return EpochEnd(self._epochs[later - 1][0] if later else epoch, self._epochs[later][1])

    def size_from(self, offset: int) -> int:
        """Bytes that a read from `offset` could get."""
        first = bisect_left(self._last_offsets, offset)
        if first == len(self._batches):
            return 0
        return self._ends[-1] - self._ends[first] + len(self._batches[first].data)

    def batches(self, offset: int) -> list[Batch]:
        """The batches from the one that holds `offset` on."""
        return self._batches[bisect_left(self._last_offsets, offset) :]

    def first_size(self, offset: int) -> int:
        """Bytes of the batch that a read from `offset` begins with; 0 at the end of the log."""
        first = bisect_left(self._last_offsets, offset)
        return len(self._batches[first].data) if first < len(self._batches) else 0

    def read(self, offset: int, max_bytes: int) -> Buffer:
        """Batches from the one that holds `offset` on (trap 40), cut off at `max_bytes` even inside one, as in Kafka."""
        first = bisect_left(self._last_offsets, offset)
        if first == len(self._batches):
            return b""
        head = self._batches[first].data
        limit = self._ends[first] - len(head) + max_bytes
        past = bisect_right(self._ends, limit, lo=first)
        parts: list[Buffer] = [batch.data for batch in self._batches[first:past]]
        if past < len(self._batches):
            begin = self._ends[past] - len(self._batches[past].data)
            parts.append(memoryview(self._batches[past].data)[: limit - begin])
        return head if len(parts) == 1 and past > first else b"".join(parts)

    def leader_epoch_at_start(self) -> int:
        """The epoch that the log begins with; -1 for a log of which no leader has been elected."""
        return self._epochs[0][0] if self._epochs else -1

    def first_since(self, timestamp: int) -> TimestampedOffset | None:
        """The first record with this timestamp or a later one."""
        for batch in self._batches:
            found = _first_in(batch, timestamp, self.start) if batch.max_timestamp >= timestamp else None
            if found is not None:
                return found
        return None

    def latest_timestamp(self) -> TimestampedOffset | None:
        """The first of the records with the greatest timestamp."""
        return None if self._latest is None else _first_in(self._latest, self._latest.max_timestamp)


def _first_in(batch: Batch, timestamp: int, start: int = 0) -> TimestampedOffset | None:
    columns = records.decode_columns(list(records.read_batches(batch.data)))
    for offset, at in zip(columns.offsets, columns.timestamps, strict=True):
        if at >= timestamp and offset >= start:
            return TimestampedOffset(int(offset), int(at), batch.leader_epoch)
    return None

"""The log of one partition: encoded batches, found by offset, size or time, and joined without decoding."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.protocol import records
from mockbroker.call import Watchers

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = ["Batch", "PartitionLog", "TimestampedOffset"]

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


class PartitionLog:
    """Batches in offset order. Replicas have no logs of their own, so what is appended is committed at once."""

    __slots__ = ("_batches", "_ends", "_last_offsets", "changed", "start")

    def __init__(self) -> None:
        self.start = 0
        """The log start offset."""
        self.changed = Watchers()
        """Woken by appends and by whatever else a waiting fetch must see: leader moves, deletion."""
        self._batches: list[Batch] = []
        self._last_offsets: list[int] = []
        self._ends: list[int] = []
        """Position in bytes behind each batch, counted from the first ever appended."""

    @property
    def end(self) -> int:
        """The offset that the next record will get; the high watermark and the last stable offset too."""
        return self._last_offsets[-1] + 1 if self._last_offsets else self.start

    def append(self, batch: Batch) -> None:
        """Add a batch whose offsets continue the log."""
        self._ends.append(len(batch.data) + (self._ends[-1] if self._ends else 0))
        self._last_offsets.append(batch.last_offset)
        self._batches.append(batch)

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

    def leader_epoch_at(self, offset: int) -> int:
        """The epoch in which the batch with this offset was appended; -1 if there is none."""
        first = bisect_left(self._last_offsets, offset)
        return self._batches[first].leader_epoch if first < len(self._batches) else -1

    def first_since(self, timestamp: int) -> TimestampedOffset | None:
        """The first record with this timestamp or a later one."""
        for batch in self._batches:
            if batch.max_timestamp >= timestamp:
                return _first_in(batch, timestamp)
        return None

    def latest_timestamp(self) -> TimestampedOffset | None:
        """The first of the records with the greatest timestamp."""
        newest = max(self._batches, key=lambda batch: batch.max_timestamp, default=None)
        return None if newest is None else _first_in(newest, newest.max_timestamp)


def _first_in(batch: Batch, timestamp: int) -> TimestampedOffset | None:
    columns = records.decode_columns(list(records.read_batches(batch.data)))
    for offset, at in zip(columns.offsets, columns.timestamps, strict=True):
        if at >= timestamp:
            return TimestampedOffset(int(offset), int(at), batch.leader_epoch)
    return None

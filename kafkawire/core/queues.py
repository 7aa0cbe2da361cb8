"""The batches that wait for each partition, and how the records of a topic find their partition."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from kafkawire.core.batch import Batch
from kafkawire.errors import ConfigurationError

if TYPE_CHECKING:
    from kafkawire.core.accumulator import Accumulator

__all__ = ["CLOSED", "PartitionQueue", "TopicQueue", "not_bytes"]

KEY_CACHE = 100_000
"""Keys whose partition a topic remembers: murmur2 of a key costs more than the rest of `append`."""


def not_bytes(name: str, given: object) -> TypeError:
    """For a key or value that nobody has encoded."""
    return TypeError(f"{name} must be bytes or None, not {type(given).__name__}: encode it, or give {name}_serializer")


class PartitionQueue:
    """What waits for one partition: the open batch, full ones in order, and those in flight."""

    __slots__ = (
        "accumulator", "in_flight", "index", "known", "next_sequence", "node", "open", "ready", "recovering", "retry_at",
        "topic",
    )  # fmt: skip

    def __init__(self, accumulator: Accumulator, topic: str, index: int) -> None:
        self.accumulator = accumulator
        self.topic = topic
        self.index = index
        self.open: Batch = CLOSED
        self.ready: deque[Batch] = deque()
        self.in_flight: dict[Batch, None] = {}
        """In the order in which they were taken."""
        self.node = -1
        """The broker that they were taken for."""
        self.recovering = False
        """A batch has failed and will be sent again: nothing else leaves before those in flight are back (trap 62)."""
        self.retry_at = 0.0
        self.next_sequence = 0
        self.known = False
        """Whether the broker has taken a batch under this producer id: before, it would take any sequence (KIP-360)."""

    def is_oldest(self, batch: Batch) -> bool:
        """Whether a batch in flight was accepted before all others that are not written."""
        return next(iter(self.in_flight)) is batch and not (self.ready and self.ready[0].order < batch.order)

    def put_back(self, batch: Batch) -> None:
        """Queue a batch for another attempt, before everything that was accepted after it."""
        at = 0
        while at < len(self.ready) and self.ready[at].order < batch.order:
            at += 1
        self.ready.insert(at, batch)


class TopicQueue:
    """The partitions of a topic and how records find theirs."""

    __slots__ = ("count", "custom", "hash", "keys", "queues", "sticky")

    def __init__(self, accumulator: Accumulator, name: str, count: int, start: int) -> None:
        self.count = count
        self.queues = [PartitionQueue(accumulator, name, index) for index in range(count)]
        self.sticky = self.queues[start % count]
        """Where records without a key go until its batch is full (KIP-480)."""
        self.hash = accumulator.hash_key
        self.custom = accumulator.custom
        self.keys: dict[bytes, int] = {}

    def choose(self, topic: str, key: bytes | None, partition: int | None) -> PartitionQueue:
        """The queue of a record. Raises ConfigurationError for a partition that the topic does not have."""
        if partition is None:
            partition = self.partition(key)
            if partition is None:
                return self.sticky
        if not 0 <= partition < self.count:
            raise ConfigurationError(f"partition {partition}: topic {topic!r} has partitions 0 to {self.count - 1}")
        return self.queues[partition]

    def partition(self, key: bytes | None) -> int | None:
        """The partition of a key; None where the record may go anywhere."""
        if self.custom is not None:
            return self.custom(key, self.count)
        if self.count == 1:
            return 0  # records with and without a key keep their order
        if key is None or self.hash is None:
            return None
        partition = self.keys.get(key)
        if partition is None:
            if not isinstance(key, bytes | bytearray | memoryview):
                raise not_bytes("key", key)
            if len(self.keys) >= KEY_CACHE:
                self.keys.clear()
            partition = self.keys[bytes(key)] = self.hash(key, self.count)
        return partition

    def move_on(self, queue: PartitionQueue) -> None:
        """The batch of `queue` is closed: if it took the records without a key, another partition does from now on."""
        if queue is self.sticky:
            self.sticky = self.queues[(queue.index + 1) % self.count]

    def grow(self, accumulator: Accumulator, name: str, count: int) -> None:
        """Take up partitions that were added (trap 118: keys move)."""
        self.queues += [PartitionQueue(accumulator, name, index) for index in range(self.count, count)]
        self.count = count
        self.keys.clear()


CLOSED = Batch(cast(PartitionQueue, None), -1, 0.0, 0.0, 0.0, -(1 << 62))
"""What stands in the place of an open batch where there is none: no record fits."""
CLOSED.tick = float("inf")

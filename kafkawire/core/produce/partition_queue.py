"""The batches that wait for each partition, and how the records of a topic find their partition."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from kafkawire.core.arguments import check_partition
from kafkawire.core.produce.batch import NO_SEQUENCE, Batch
from kafkawire.errors import ConfigurationError
from kafkawire.net.base import NEVER

if TYPE_CHECKING:
    from kafkawire.core.produce.accumulator import Accumulator

__all__ = ["CLOSED", "PartitionQueue", "TopicQueue"]

SEQUENCE_MASK = 0x7FFFFFFF
KEY_CACHE = 100_000
"""Keys whose partition a topic remembers: murmur2 of a key costs more than the rest of `append`."""


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

    def head(self) -> Batch:
        """The batch that leaves next."""
        return self.ready[0] if self.ready else self.open

    def ready_at(self, node: int | None, hurry: bool) -> float:
        """When it may leave for a broker, at once in a `hurry`; NEVER while those in flight must come back first.

        That is so after a failure, for the first batch under a producer id, and when the leader is another one now: more
        batches than brokers remember could be on their way (trap 62). It is so, too, for a new batch behind one that is being
        sent again: that one may have been written, and a broker that has taken five more since would not know it.
        """
        if self.in_flight:
            alone = not self.known and next(iter(self.in_flight)).sequence != NO_SEQUENCE
            passing = self.head().attempts == 0 and any(batch.attempts for batch in self.in_flight)
            if self.recovering or alone or passing or self.node != node:
                return NEVER
        self.recovering = False
        if self.retry_at > 0.0:
            return self.retry_at
        return 0.0 if self.ready or hurry else self.open.due

    def assign_sequence(self, batch: Batch, producer: tuple[int, int]) -> None:
        """Give a batch its place in the sequence of the partition, once (trap 28: it wraps from 2^31-1 to 0)."""
        if batch.sequence == NO_SEQUENCE:
            batch.producer = producer
            batch.sequence = self.next_sequence
            self.next_sequence = (self.next_sequence + batch.count) & SEQUENCE_MASK

    def is_oldest(self, batch: Batch) -> bool:
        """Whether a batch in flight was accepted before all others that are not written."""
        return next(iter(self.in_flight)) is batch and not (self.ready and self.ready[0].order < batch.order)

    def forget_broker(self) -> None:
        """The topic was created again: wait for batches in flight to the old log, then open the new one with one batch alone.

        A log that does not know the producer takes whatever sequence comes first, and those before it never (KIP-360).
        """
        self.node = -1
        self.known = False

    def put_back(self, batch: Batch) -> None:
        """Queue a batch for another attempt, before everything that was accepted after it."""
        at = 0
        while at < len(self.ready) and self.ready[at].order < batch.order:
            at += 1
        self.ready.insert(at, batch)


class TopicQueue:
    """The partitions of a topic and how records find theirs."""

    __slots__ = ("count", "custom", "hash", "queues", "routes", "sticky")

    def __init__(self, accumulator: Accumulator, name: str, count: int, start: int) -> None:
        self.count = count
        self.queues = [PartitionQueue(accumulator, name, index) for index in range(count)]
        self.hash = accumulator.hash_key
        self.custom = accumulator.custom
        self.routes: dict[bytes | None, PartitionQueue] = {}
        """By key (None: without one) where records go, as far as is known; empty where a user's own partitioner decides."""
        self._stick(self.queues[start % count])

    def choose(self, topic: str, key: bytes | None, partition: int | None) -> PartitionQueue:
        """The queue of a record. Raises ConfigurationError for a partition that the topic does not have."""
        if partition is None:
            partition = self.partition(topic, key)
            if partition is None:
                return self.sticky
        self.check(topic, partition)
        return self.queues[partition]

    def check(self, topic: str, partition: int) -> None:
        """Raise ConfigurationError for a partition that the topic does not have."""
        if not 0 <= partition < self.count:
            raise ConfigurationError(f"partition {partition}: topic {topic!r} has partitions 0 to {self.count - 1}")

    def partition(self, topic: str, key: Any) -> int | None:
        """The partition of a key; None where the record may go anywhere. Raises what a user's own partitioner raises."""
        if self.custom is not None:
            chosen = self.custom(key, self.count)
            if chosen is not None:
                check_partition(chosen)
                self.check(topic, chosen)
            return chosen
        if self.count > 1 and (key is None or self.hash is None):
            return None  # with one partition, records with and without a key keep their order
        if not isinstance(key, bytes | None):
            key = bytes(key)
        queue = self.routes.get(key)
        if queue is None:
            if len(self.routes) > KEY_CACHE:
                self._forget_routes()
            queue = self.routes[key] = self.queues[self._index(key)]
        return queue.index

    def _index(self, key: bytes) -> int:
        return 0 if self.count == 1 or self.hash is None else self.hash(key, self.count)

    def move_on(self, queue: PartitionQueue) -> None:
        """The batch of `queue` is closed: if it took the records without a key, another partition does from now on."""
        if queue is self.sticky:
            self._stick(self.queues[(queue.index + 1) % self.count])

    def grow(self, accumulator: Accumulator, name: str, count: int) -> None:
        """Take up partitions that were added (trap 118: keys move)."""
        self.queues += [PartitionQueue(accumulator, name, index) for index in range(self.count, count)]
        self.count = count
        self._forget_routes()

    def _stick(self, queue: PartitionQueue) -> None:
        self.sticky = queue
        """Where records without a key go until its batch is full (KIP-480)."""
        if self.custom is None:
            self.routes[None] = queue

    def _forget_routes(self) -> None:
        self.routes.clear()
        self._stick(self.sticky)


CLOSED = Batch(cast(PartitionQueue, None), -1, 0.0, NEVER, NEVER, -(1 << 62))
"""What stands in the place of an open batch where there is none: no record fits."""
CLOSED.tick = float("inf")

"""Topics of a producer: the queues of their partitions, and how a record finds its partition.

That goes by the key of the record, by a partitioner of the user's, or to the sticky partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkawire.core.arguments import check_partition
from kafkawire.core.produce.batch import Batch
from kafkawire.core.produce.partition_queue import PartitionQueue
from kafkawire.core.produce.partitioners import KeyPartitioner, Partitioner, key_partitioner
from kafkawire.errors import ConfigurationError
from kafkawire.net.base import Lock

__all__ = ["TopicQueues", "Topics"]

KEY_CACHE = 100_000
"""Keys whose partition a topic remembers: murmur2 of a key costs more than the rest of an append."""


class Topics:
    """All topics of a producer. The accumulator calls it with its lock held; the methods for others take that lock."""

    def __init__(self, lock: Lock, partitioner: str | Partitioner) -> None:
        self.custom_partitioner = None if isinstance(partitioner, str) else partitioner
        self.routes: dict[str, dict[bytes | None, PartitionQueue]] = {}
        """Queue by topic and key, as far as it is known. The short append reads it without the lock."""
        self._lock = lock
        self._hash = key_partitioner(partitioner)
        self._topics: dict[str, TopicQueues] = {}

    # ---- the accumulator, with the lock held

    def get(self, name: str) -> TopicQueues | None:
        """Return a topic that is known, or None."""
        return self._topics.get(name)

    def queue_of(self, batch: Batch) -> PartitionQueue:
        """Return the queue of the partition of a batch."""
        return self._topics[batch.topic].queues[batch.partition]

    def move_on(self, queue: PartitionQueue) -> None:
        """Have another partition take the records without a key, if it was that of `queue`, whose batch is closed."""
        self._topics[queue.topic].move_on(queue)

    def forget_routes(self) -> None:
        """Have the short append accept nothing more."""
        self.routes.clear()

    # ---- flows that send: any thread

    def add(self, name: str, partitions: int, start: int) -> None:
        """Make a topic known; records without a key start with partition `start`, modulo the number of partitions."""
        with self._lock:
            if name not in self._topics:
                topic = self._topics[name] = TopicQueues(name, partitions, start, self._hash, self.custom_partitioner)
                self.routes[name] = topic.routes

    def partitions_of(self, name: str, keys: Sequence[bytes | None]) -> list[int | None]:
        """Return the partition of every key, None where the record may go to any. The topic must be known."""
        with self._lock:
            return [self._topics[name].partition(key) for key in keys]

    def check_partition(self, name: str, partition: int) -> None:
        """Raise ConfigurationError for a partition that a known topic does not have."""
        with self._lock:
            self._topics[name].check(partition)

    # ---- the sender's flow

    def grow(self, name: str, partitions: int) -> None:
        """Take up partitions that were added to a topic."""
        with self._lock:
            topic = self._topics.get(name)
            if topic is not None and partitions > len(topic.queues):
                topic.grow(partitions)

    def replace_logs(self, name: str) -> None:
        """Begin again with the new logs of a topic that was deleted and created again: they know no producer."""
        with self._lock:
            for queue in self._queues_of(name):
                queue.replace_log()

    def _queues_of(self, name: str) -> list[PartitionQueue]:
        topic = self._topics.get(name)
        return [] if topic is None else topic.queues

    def restart_sequences(self) -> None:
        """Begin again with sequence 0 in every partition, under a new producer id or epoch. Nothing may be in flight."""
        with self._lock:
            for queue in self._all_queues():
                queue.restart_sequences()

    def _all_queues(self) -> list[PartitionQueue]:
        return [queue for topic in self._topics.values() for queue in topic.queues]

    def assign_sequence(self, batch: Batch, producer: tuple[int, int]) -> None:
        """Number a batch in flight under a producer id and epoch; one that is numbered keeps its sequence."""
        with self._lock:
            self.queue_of(batch).assign_sequence(batch, producer)

    def is_oldest(self, batch: Batch) -> bool:
        """Return True if a batch in flight was accepted before all others of its partition that are not acknowledged."""
        with self._lock:
            return self.queue_of(batch).is_oldest(batch)


class TopicQueues:
    """Queues of the partitions of one topic. Called with the accumulator's lock held."""

    __slots__ = ("_custom", "_hash", "_sticky", "name", "queues", "routes")

    def __init__(self, name: str, count: int, start: int, hash_key: KeyPartitioner | None, custom: Partitioner | None) -> None:
        self.name = name
        self.queues = [PartitionQueue(name, index) for index in range(count)]
        self.routes: dict[bytes | None, PartitionQueue] = {}
        """Queue by key (None: without one), as far as it is known; empty where a user's own partitioner decides.

        The short append reads it without the lock.
        """
        self._hash = hash_key
        self._custom = custom
        self._stick(self.queues[start % count])

    def choose(self, key: bytes | None, partition: int | None) -> PartitionQueue:
        """Return the queue of a record. Raises ConfigurationError for a partition that the topic does not have."""
        if partition is None:
            partition = self.partition(key)
            if partition is None:
                return self._sticky
        self.check(partition)
        return self.queues[partition]

    def instead_of(self, queue: PartitionQueue) -> PartitionQueue:
        """Return the queue of a record that may go to any partition, once the batch of `queue` was full."""
        return queue if self._custom is not None else self._sticky

    def check(self, partition: int) -> None:
        """Raise ConfigurationError for a partition that the topic does not have."""
        if not 0 <= partition < len(self.queues):
            last = len(self.queues) - 1
            raise ConfigurationError(f"partition {partition}: topic {self.name!r} has partitions 0 to {last}")

    def partition(self, key: Any) -> int | None:
        """Return the partition of a key; None if the record may go to any. Raises what a user's own partitioner raises."""
        count = len(self.queues)
        if self._custom is not None:
            chosen = self._custom(key, count)
            if chosen is not None:
                check_partition(chosen)
                self.check(chosen)
            return chosen
        if count > 1 and (key is None or self._hash is None):
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
        return 0 if self._hash is None or len(self.queues) == 1 else self._hash(key, len(self.queues))

    def move_on(self, queue: PartitionQueue) -> None:
        """Have the next partition take the records without a key, if it was `queue`, whose batch is closed (KIP-480)."""
        if queue is self._sticky:
            self._stick(self.queues[(queue.index + 1) % len(self.queues)])

    def grow(self, count: int) -> None:
        """Take up partitions that were added (trap 118: keys move)."""
        self.queues += [PartitionQueue(self.name, index) for index in range(len(self.queues), count)]
        self._forget_routes()

    def _stick(self, queue: PartitionQueue) -> None:
        self._sticky = queue
        """The queue that takes records without a key, until its batch is full (KIP-480)."""
        if self._custom is None:
            self.routes[None] = queue

    def _forget_routes(self) -> None:
        self.routes.clear()
        self._stick(self._sticky)

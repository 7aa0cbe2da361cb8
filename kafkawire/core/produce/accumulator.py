"""Where accepted records wait: in the open batch of their partition, within a budget of bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafkawire.config import ProducerOptions
from kafkawire.core.produce.batch import NO_SEQUENCE, Batch, DeliveryCallback
from kafkawire.core.produce.columns import Columns, one_record
from kafkawire.core.produce.fast_append import short_append
from kafkawire.core.produce.losses import Losses
from kafkawire.core.produce.partition_queue import CLOSED, PartitionQueue, TopicQueue
from kafkawire.core.produce.partitioners import key_partitioner
from kafkawire.errors import ConcurrentUseError, ErrorCode, ForkedError, KafkaError, OwnLimitError
from kafkawire.message import Header, RecordMetadata
from kafkawire.net.base import NEVER, Net, Signal

__all__ = ["Accumulator", "Counts", "Drained", "Run"]

GRANT = 65_536
"""Bytes that an open batch takes from the budget at a time."""
OPEN_FOR = 1 / 20
"""Part of delivery_timeout_ms for which a batch that cannot leave takes records beyond linger_ms.

The timeout of all its records runs from its closing, so that none is given up early. The first is given up late by as much
as the batch was open; a smaller part would make more and smaller batches of what waits for a broker.
"""


class Counts(NamedTuple):
    """Records by what became of them; `accepted` is always the sum of the other three."""

    accepted: int
    acknowledged: int
    failed: int
    queued: int


class Run(NamedTuple):
    """Rows `start` to `end` of some columns became the records from `at` on of `batch`."""

    batch: Batch
    at: int
    start: int
    end: int


class Drained(NamedTuple):
    """What the sender may send now, and when to look again."""

    taken: dict[int, list[Batch]]
    """By node id."""
    expired: list[Batch]
    leaderless: bool
    """Whether a partition has something to send and no leader."""
    due: float
    empty: bool
    """Whether nothing is queued at all."""
    losses: list[str]
    """Lines to be logged about records that failed."""


class Accumulator:
    """All topics of a producer. Users append from any thread; the sender drains and completes.

    Every method takes the one lock itself and never waits; what has to wait (for room, for metadata, for a batch) is told
    by a return value, and done by the flows of `core.producer`.
    """

    def __init__(self, net: Net, options: ProducerOptions, delivery: Callable[[], Any]) -> None:
        self.net = net
        self._lock = net.lock()
        self._now = net.now
        self._wall = net.wall_clock
        self._delivery = delivery
        self._batch_size = options["batch_size"]
        self._max_record = options["max_request_size"]
        self._linger = options["linger_ms"] / 1000
        self._patience = options["delivery_timeout_ms"] / 1000
        self._losses = Losses()
        self.hash_key = key_partitioner(options["partitioner"])
        self.custom = None if isinstance(options["partitioner"], str) else options["partitioner"]
        self._known: dict[str, TopicQueue] = {}
        self._routes: dict[str, dict[bytes | None, PartitionQueue]] = {}
        self.short_append = short_append(self._routes, self._lock, self._wall, delivery)
        """Does what `append` does for most records, at half the cost."""
        self._active: dict[PartitionQueue, None] = {}
        self._incomplete: dict[Batch, None] = {}
        self._free = options["buffer_memory"]
        self.freed = 0
        """How often room has become free."""
        self._room_waiters: dict[Signal, None] = {}
        self._flushes: set[object] = set()
        """Those under way."""
        self._closed: KafkaError | None = None
        self._entered = False
        """Whether records are being accepted, by the thread that holds the lock."""
        self._numbers = 0
        self._accepted = 0
        """Records in batches that are not open any more."""
        self._acknowledged = 0
        self._failed = 0
        self._wake_at = NEVER
        """When the sender comes again by itself; appends that cannot wait so long wake it."""
        self.signal = net.signal()
        """The sender's."""
        self.finished_callbacks: deque[Batch] = deque()
        """Batches that are done and have callbacks to run."""
        self.callback_signal = net.signal()

    # ---- users: any thread

    def append(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: tuple[Header, ...] | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> Any:
        """Accept one record; returns its handle, or None if the topic's metadata or room in the buffer must be waited for.

        Whatever comes out of this leaves the record accepted or not, nothing between: everything is made first, and then
        stored without a call in between; a new batch is nobody's before it holds the record. Raises ConcurrentUseError where
        something that interrupts a call makes another.
        """
        with self._lock:
            self._refuse()
            try:
                self._entered = True
                queues = self._known.get(topic)
                if queues is None:
                    return None
                key, value, size = one_record(key, value, headers)
                batch = self._batch_for(topic, queues, key, partition, size)
                if batch is None:
                    return None
                if timestamp is not None:
                    batch.stamp(timestamp)
                elif self._wall() >= batch.tick:
                    batch.restamp(self._wall())
                handle = self._delivery()
                if on_delivery is not None or batch.callbacks is not None:
                    batch.call_back(on_delivery)
                index = batch.put((value,), None if key is None else (key,), None if not headers else (headers,), size)
                if batch.queue.open is not batch:
                    self._open(batch)
                handle.batch, handle.index = batch, index
                return handle
            finally:
                self._entered = False

    def append_columns(self, topic: str, columns: Columns, start: int, partition: int | None) -> Run | None:
        """Accept as many rows from `start` on as fit into one batch; None as in `append`.

        Without a partition the rows go where records without a key go.
        """
        with self._lock:
            self._refuse()
            try:
                self._entered = True
                queues = self._known.get(topic)
                if queues is None:
                    return None
                batch = self._batch_for(topic, queues, None, partition, columns.size(start))
                if batch is None:
                    return None
                end = columns.fitting(start, batch.room)
                if batch.callbacks is not None:
                    batch.callbacks.pop(batch.count, None)
                at = batch.extend(columns, start, end, self._wall())
                if batch.queue.open is not batch:
                    self._open(batch)
                return Run(batch, at, start, end)
            finally:
                self._entered = False

    def partitions_of(self, topic: str, keys: Sequence[bytes | None]) -> list[int | None]:
        """The partition of every key, None where the record may go anywhere. The topic must be known."""
        with self._lock:
            return [self._known[topic].partition(topic, key) for key in keys]

    def check_partition(self, topic: str, partition: int) -> None:
        """Raise ConfigurationError for a partition that a known topic does not have."""
        with self._lock:
            self._known[topic].check(topic, partition)

    def knows(self, topic: str) -> bool:
        """Whether the topic was added; raises why nothing is accepted any more."""
        with self._lock:
            self._refuse()
            return topic in self._known

    def add_topic(self, name: str, partitions: int, start: int) -> None:
        """Make the topic known; records without a key start with partition `start`, modulo how many there are."""
        with self._lock:
            if name not in self._known:
                topic = self._known[name] = TopicQueue(self, name, partitions, start)
                self._routes[name] = topic.routes

    def grow_topic(self, name: str, partitions: int) -> None:
        """The topic has more partitions than before."""
        with self._lock:
            known = self._known.get(name)
            if known is not None and partitions > known.count:
                known.grow(self, name, partitions)

    def restart_topic(self, name: str) -> None:
        """The topic was deleted and created again: to its brokers all producers are new."""
        with self._lock:
            known = self._known.get(name)
            if known is not None:
                for queue in known.queues:
                    queue.forget_broker()

    def wait_for_room(self, signal: Signal, seen: int) -> bool:
        """True if room has become free since `freed` was `seen`; otherwise the signal will be set when some does."""
        with self._lock:
            if self.freed != seen or self._closed is not None or not self._incomplete:
                return True
            self._room_waiters[signal] = None
            self._wake()
            return False

    def watch(self, batch: Batch, signal: Signal) -> bool:
        """True if the batch is done; otherwise the signal will be set when it is."""
        with self._lock:
            if not batch.done:
                batch.waiters[signal] = None
            return batch.done

    def forget(self, signal: Signal, batch: Batch | None = None) -> None:
        """Take back what a signal was registered for."""
        with self._lock:
            self._room_waiters.pop(signal, None)
            if batch is not None:
                batch.waiters.pop(signal, None)

    def start_flush(self, flush: object) -> list[Batch]:
        """Send open batches without waiting for their linger time, until `end_flush`; returns what is not done yet."""
        with self._lock:
            self._flushes.add(flush)
            self._wake()
            return list(self._incomplete)

    def tell(self, batch: Batch, index: int) -> RecordMetadata:
        """The outcome of a record that is done, for somebody who asks: a failure of it needs no word in the log any more."""
        batch, index = batch.place(index)
        if batch.failure is not None:
            with self._lock:
                self._losses.tell(batch.failure, index)
        return batch.outcome(index)

    def losses(self) -> str | None:
        """The failed records that nobody has asked about, in a sentence; None if there are none."""
        with self._lock:
            return self._losses.summary()

    def last_losses(self) -> str | None:
        """The unasked failures that were not logged yet, in one line; marks them as logged."""
        with self._lock:
            return self._losses.last_line()

    def end_flush(self, flush: object) -> None:
        """Take back `start_flush`, whether that has come through or not."""
        with self._lock:
            self._flushes.discard(flush)

    def counts(self) -> Counts:
        """What became of every record so far."""
        with self._lock:
            queued = sum(batch.count for batch in self._incomplete)
            accepted = self._accepted + sum(queue.open.count for queue in self._active)
            return Counts(accepted, self._acknowledged, self._failed, queued)

    def close(self, error: KafkaError) -> None:
        """Accept nothing more: `append` raises `error` from now on. What is queued is still sent."""
        with self._lock:
            if self._closed is None:
                self._closed = error
                self._routes.clear()
            waiting = self._take_room_waiters()
            self._wake()
        for signal in waiting:
            signal.set()

    @property
    def forked(self) -> bool:
        """Whether this is a child's copy of what the parent process has."""
        return isinstance(self._closed, ForkedError)

    def abandon(self, error: ForkedError) -> None:
        """In a child process after fork(): accept nothing."""
        self._routes.clear()
        self._losses = Losses()
        self._closed = error

    # ---- the sender

    def drain(self, now: float, room: dict[int, int], leader_of: Callable[[str, int], int | None]) -> Drained:
        """Take at most one batch of each partition (trap 27), and those that have expired.

        `room` is how many bytes the next request may have, by the node id of the brokers that can take one.
        """
        with self._lock:
            return self._drain(now, room, leader_of)

    def nodes(self, leader_of: Callable[[str, int], int | None]) -> set[int]:
        """The brokers that something is queued for."""
        with self._lock:
            leaders = {leader_of(queue.topic, queue.index) for queue in self._active}
        return {node for node in leaders if node is not None}

    def restart_sequences(self) -> None:
        """A new producer id or epoch: every partition counts from 0, and queued batches are numbered anew (trap 66)."""
        with self._lock:
            for topic in self._known.values():
                for queue in topic.queues:
                    queue.next_sequence = 0
                    queue.known = False
                    for batch in queue.ready:
                        batch.wire = None
                        batch.sequence = NO_SEQUENCE

    def complete(self, batch: Batch, error: KafkaError | None = None, offset: int | None = None, log_time: int = -1) -> None:
        """A batch that was taken is written, or given up with `error`."""
        with self._lock:
            self._leave_flight(batch)
            signals = self._finish(batch, error, offset, log_time)
        for signal in signals:
            signal.set()

    def retry(self, batch: Batch, at: float) -> None:
        """Queue a batch that was taken for another attempt, not before `at`."""
        with self._lock:
            queue = self._leave_flight(batch)
            queue.put_back(batch)
            queue.retry_at = at
            queue.recovering = True
            self._active[queue] = None

    def split(self, batch: Batch) -> None:
        """Queue the two halves of a batch that was taken in its place."""
        with self._lock:
            queue = self._leave_flight(batch)
            first, second = batch.split()
            batch.children = [(0, first), (first.count, second)]
            first.granted, second.granted = batch.granted, 0
            for half in (second, first):
                half.parent = batch
                queue.put_back(half)
                self._incomplete[half] = None
            del self._incomplete[batch]
            queue.recovering = True
            self._active[queue] = None

    def fail_all(self, error: KafkaError) -> None:
        """Give up everything that is queued; nothing may be in flight any more."""
        with self._lock:
            signals = self._finish_all(error)
        for signal in signals:
            signal.set()

    # ---- with the lock held

    def _refuse(self) -> None:
        if self._closed is not None:
            raise self._closed
        if self._entered:
            raise ConcurrentUseError("send() within send(): a signal handler or finalizer that sends came at a bad moment")

    def _batch_for(self, topic: str, queues: TopicQueue, key: bytes | None, partition: int | None, size: int) -> Batch | None:
        """The open batch for a record, with room for it, or a new one to be opened with it; None if there is no room."""
        queue = queues.choose(topic, key, partition)
        if queue.open.room >= size:
            return queue.open
        return self._with_room(topic, queues, queue, size, key is None and partition is None)

    def _with_room(self, topic: str, queues: TopicQueue, queue: PartitionQueue, size: int, anywhere: bool) -> Batch | None:
        """The open batch with a larger grant, or a new one, so that it has room for `size` more bytes.

        It is of another partition if the record may go `anywhere` and the batch of `queue` was full.
        """
        if size > self._max_record:
            raise OwnLimitError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of {size} bytes for topic {topic!r}: max_request_size is {self._max_record} bytes",
            )
        batch = queue.open
        while batch is not CLOSED and batch.granted - batch.room + size > self._batch_size:
            self._wake()  # before the stores, which an interrupt must not part from it; the sender needs the lock to see them
            self._close(queue)
            if anywhere and queues.custom is None:
                queue = queues.sticky
            batch = queue.open
        granted, room = (0, 0) if batch is CLOSED else (batch.granted, batch.room)
        need = max(size - room, min(GRANT, self._batch_size - granted))
        if need > self._free:
            need = size - room
        if need > self._free and self._incomplete:
            return None
        if batch is CLOSED:
            return self._new_batch(queue, need)
        self._free -= need
        batch.granted += need
        batch.room += need
        return batch

    def _new_batch(self, queue: PartitionQueue, granted: int) -> Batch:
        self._numbers += 1
        due = self._now() + self._linger
        return Batch(queue, self._numbers, self._wall(), due, due + self._patience * OPEN_FOR, granted)

    def _open(self, batch: Batch) -> None:
        """Put a new batch, which holds a record already, where others find it."""
        if batch.due < self._wake_at:
            self._wake()  # before the stores, as in `_with_room`
        self._free -= batch.granted
        batch.queue.open = batch
        self._active[batch.queue] = None
        self._incomplete[batch] = None

    def _close(self, queue: PartitionQueue) -> None:
        """The open batch takes no more records: its time to be delivered begins."""
        now = self._now()
        batch = queue.open
        queue.open = CLOSED
        self._free += batch.room
        batch.granted -= batch.room
        batch.room = 0
        batch.expires = now + self._patience
        self._accepted += batch.count
        queue.ready.append(batch)
        self._known[queue.topic].move_on(queue)

    def _wake(self) -> None:
        if self._wake_at > -NEVER:
            self.signal.set()
            self._wake_at = -NEVER

    def _drain(self, now: float, room: dict[int, int], leader_of: Callable[[str, int], int | None]) -> Drained:
        taken: dict[int, list[Batch]] = {}
        expired: list[Batch] = []
        due = NEVER
        leaderless = False
        hurry = bool(self._flushes) or self._closed is not None or bool(self._room_waiters)
        for queue in list(self._active):
            expired += self._take_expired(queue, now)
            if queue.open.closes <= now:
                self._close(queue)
            if not queue.ready and queue.open is CLOSED:
                if not queue.in_flight:
                    del self._active[queue]
                continue
            batch = queue.head()
            node = leader_of(queue.topic, queue.index)
            ready_at = queue.ready_at(node, hurry)
            if ready_at <= now and node in room and (node not in taken or batch.size <= room[node]):
                room[node] -= batch.size
                taken.setdefault(node, []).append(self._take(queue, node))
            else:
                leaderless = leaderless or node is None
                due = min(due, batch.expires, queue.open.closes, ready_at if ready_at > now else NEVER)
        losses = self._losses.lines(now)
        due = min(due, self._losses.due())
        self._wake_at = NEVER if taken else due
        return Drained(taken, expired, leaderless, due, not self._incomplete, losses)

    def _take_expired(self, queue: PartitionQueue, now: float) -> list[Batch]:
        expired = []
        while queue.ready and queue.ready[0].expires <= now:
            expired.append(queue.ready.popleft())
            queue.in_flight[expired[-1]] = None
        return expired

    def _take(self, queue: PartitionQueue, node: int) -> Batch:
        queue.retry_at = 0.0
        if not queue.ready:
            self._close(queue)
        # To the end: where requests are full, the other partitions come first next time.
        del self._active[queue]
        self._active[queue] = None
        batch = queue.ready.popleft()
        queue.in_flight[batch] = None
        queue.node = node
        return batch

    def _leave_flight(self, batch: Batch) -> PartitionQueue:
        queue = batch.queue
        del queue.in_flight[batch]
        return queue

    def _finish(self, batch: Batch, error: KafkaError | None, offset: int | None, log_time: int) -> list[Signal]:
        """The batch is done; returns the signals to set, after the lock."""
        batch.error = error
        batch.base_offset = offset
        batch.log_append_time = log_time
        if error is None:
            batch.queue.known = True
            self._acknowledged += batch.count
        else:
            self._failed += batch.count
            self._losses.add(batch, error, self._now())
        self._free += batch.granted
        self.freed += 1
        self._incomplete.pop(batch, None)
        batch.release()
        signals = self._take_room_waiters()
        done: Batch | None = batch
        while done is not None:
            done.done = True
            signals += done.waiters
            done.waiters.clear()
            if done.callbacks is not None:
                self.finished_callbacks.append(done)
                signals.append(self.callback_signal)
            parent = done.parent
            done = parent if parent is not None and all(child.done for _, child in parent.children or ()) else None
        return signals

    def _finish_all(self, error: KafkaError) -> list[Signal]:
        signals = []
        for queue in list(self._active):
            if queue.open is not CLOSED:
                self._close(queue)
            while queue.ready:
                signals += self._finish(queue.ready.popleft(), error, None, -1)
        self._active.clear()
        return signals

    def _take_room_waiters(self) -> list[Signal]:
        waiting = list(self._room_waiters)
        self._room_waiters.clear()
        return waiting

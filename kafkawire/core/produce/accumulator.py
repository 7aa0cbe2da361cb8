"""Accepted records, from `append` to their acknowledgement: in the batches of their partitions, within a budget of bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkawire.config import ProducerOptions
from kafkawire.core.produce.batch import OPEN_FOR, Batch, BatchState, DeliveryCallback
from kafkawire.core.produce.columns import Columns, Run, one_record
from kafkawire.core.produce.deliveries import BatchCompletion, Counts
from kafkawire.core.produce.fast_append import short_append
from kafkawire.core.produce.losses import Losses
from kafkawire.core.produce.partition_queue import CLOSED, PartitionQueue
from kafkawire.core.produce.topics import TopicQueues, Topics
from kafkawire.errors import ConcurrentUseError, ErrorCode, ForkedError, KafkaError, OwnLimitError
from kafkawire.message import Header
from kafkawire.net.base import NEVER, Net, Signal

__all__ = ["Accumulator", "Drained"]

GRANT = 65_536
"""Bytes that an open batch takes from the budget at a time."""


class Drained(NamedTuple):
    """Batches to send now, by node id of the broker; expired batches, to give up; and the time to drain again."""

    taken: dict[int, list[Batch]]
    expired: list[Batch]
    due: float
    leaderless: bool
    """True if a partition without a leader has something to send."""
    finished: bool
    """True if no batch is left, and none will come as the accumulator is closed."""
    loss_lines: list[str]
    """Lines to log about records that failed."""


class Accumulator:
    """All topics of a producer. Users append from any thread; the sender drains and completes.

    Every method takes the one lock itself and never waits; what must be waited for (room, metadata, a batch) is said by the
    return value, and waited for by the flows of `core.produce.flows`. Batches and queues are changed with that lock held.
    """

    def __init__(self, net: Net, options: ProducerOptions, new_handle: Callable[[], Any]) -> None:
        self._net = net
        self._lock = net.lock()
        self._now = net.now
        self._wall = net.wall_clock
        self._new_handle = new_handle
        self._batch_size = options["batch_size"]
        self._max_record = options["max_request_size"]
        self._linger = options["linger_ms"] / 1000
        self._patience = options["delivery_timeout_ms"] / 1000
        self.topics = Topics(self._lock, options["partitioner"])
        self.losses = Losses(self._lock)
        self.short_append = short_append(self.topics.routes, self._lock, self._wall, new_handle)
        """Does what `append` does for most records, at half the cost."""
        self._active: dict[PartitionQueue, None] = {}
        """Queues that are not empty, and some that are; those that were drained longest ago come first."""
        self._free = options["buffer_memory"]
        self.freed = 0
        """Number of times that room has become free."""
        self._room_waiters: dict[Signal, None] = {}
        self._flushes: set[object] = set()
        """Calls of flush() that have not returned."""
        self._closed: KafkaError | None = None
        """Error that `append` raises, once nothing is accepted any more."""
        self._entered = False
        """True while the thread that holds the lock accepts records."""
        self._numbers = 0
        """Batches made so far."""
        self._accepted = 0
        """Records in batches that are not open any more."""
        self._acknowledged = 0
        self._failed = 0
        self._wake_at = NEVER
        """Time at which the sender drains again by itself; an append that cannot wait so long wakes it."""
        self.signal = net.signal()
        """Wakes the sender."""
        self.finished_callbacks: deque[Batch] = deque()
        """Batches that have ended and have callbacks to run."""
        self.callback_signal = net.signal()
        """Wakes the flow that runs callbacks."""

    # ---- records: any thread

    def accepts(self, topic: str) -> bool:
        """Return True if the topic is known; raises the error of `close` once nothing is accepted any more."""
        with self._lock:
            self._refuse()
            return self.topics.get(topic) is not None

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

        An interrupt leaves the record accepted or not, nothing between: everything is made first, and then stored without a
        call in between; a new batch is in no queue before it holds the record. Raises ConcurrentUseError in a signal handler
        or finalizer that interrupts another append of the same thread.
        """
        with self._lock:
            self._refuse()
            try:
                self._entered = True
                topic_queue = self.topics.get(topic)
                if topic_queue is None:
                    return None
                key, value, size = one_record(key, value, headers)
                batch = self._batch_for(topic_queue, key, partition, size)
                if batch is None:
                    return None
                if timestamp is not None:
                    batch.stamp(timestamp)
                elif self._wall() >= batch.tick:
                    batch.restamp(self._wall())
                handle = self._new_handle()
                if on_delivery is not None or batch.callbacks is not None:
                    batch.set_callback(on_delivery)
                index = batch.put((value,), None if key is None else (key,), None if not headers else (headers,), size)
                if batch.state is BatchState.NEW:
                    self._open(batch)
                handle.completion, handle.index = batch.completion, index
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
                topic_queue = self.topics.get(topic)
                if topic_queue is None:
                    return None
                batch = self._batch_for(topic_queue, None, partition, columns.size(start))
                if batch is None:
                    return None
                end = columns.fitting(start, batch.room)
                batch.drop_callback()
                at = batch.extend(columns, start, end, self._wall())
                if batch.state is BatchState.NEW:
                    self._open(batch)
                return Run(batch.completion, at, start, end)
            finally:
                self._entered = False

    def _refuse(self) -> None:
        if self._closed is not None:
            raise self._closed
        if self._entered:
            raise ConcurrentUseError("send() within send(): a signal handler or finalizer that sends came at a bad moment")

    def _batch_for(self, topic: TopicQueues, key: bytes | None, partition: int | None, size: int) -> Batch | None:
        """Return the open batch for a record, with room for it, or a new batch to open with it; None if there is no room."""
        queue = topic.choose(key, partition)
        if queue.open.room >= size:
            return queue.open
        return self._with_room(topic, queue, size, key is None and partition is None)

    def _with_room(self, topic: TopicQueues, queue: PartitionQueue, size: int, anywhere: bool) -> Batch | None:
        """Return the open batch with a larger grant, or a new one, so that it has room for `size` more bytes.

        It is of another partition if the record may go `anywhere` and the batch of `queue` was full.
        """
        if size > self._max_record:
            raise OwnLimitError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of {size} bytes for topic {topic.name!r}: max_request_size is {self._max_record} bytes",
            )
        batch = queue.open
        while batch is not CLOSED and batch.size + size > self._batch_size:
            self._wake()  # before the stores, which an interrupt must not part from it; the sender needs the lock to see them
            self._close(queue)
            if anywhere:
                queue = topic.instead_of(queue)
            batch = queue.open
        granted, room = (0, 0) if batch is CLOSED else (batch.granted, batch.room)
        need = max(size - room, min(GRANT, self._batch_size - granted))
        if need > self._free:
            need = size - room
        if need > self._free and not self._empty():
            return None
        if batch is CLOSED:
            return self._new_batch(queue, need)
        batch.grant(need)
        self._free -= need
        return batch

    def _new_batch(self, queue: PartitionQueue, granted: int) -> Batch:
        self._numbers += 1
        due = self._now() + self._linger
        completion = BatchCompletion(self._net, self._lock, queue.topic, queue.index)
        return Batch(completion, (self._numbers, 0), self._wall(), due, due + self._patience * OPEN_FOR, granted)

    def _open(self, batch: Batch) -> None:
        """Put a new batch, which holds a record already, into its queue."""
        if batch.due < self._wake_at:
            self._wake()  # before the stores, as in `_with_room`
        queue = self.topics.queue_of(batch)
        queue.open_batch(batch)
        self._free -= batch.granted
        self._active[queue] = None

    def _close(self, queue: PartitionQueue) -> None:
        """Have the open batch take no more records: its time to be delivered begins."""
        batch = queue.open
        left = queue.close_batch(self._now() + self._patience)
        self._free += left
        self._accepted += batch.count
        self.topics.move_on(queue)

    def _empty(self) -> bool:
        return all(queue.empty for queue in self._active)

    def _wake(self) -> None:
        if self._wake_at > -NEVER:
            self.signal.set()
            self._wake_at = -NEVER

    # ---- waiting, counting, closing: any thread

    def wait_for_room(self, signal: Signal, seen: int) -> bool:
        """Return True if room has become free since `freed` was `seen`; otherwise the signal will be set when some does."""
        with self._lock:
            if self.freed != seen or self._closed is not None or self._empty():
                return True
            self._room_waiters[signal] = None
            self._wake()
            return False

    def end_wait_for_room(self, signal: Signal) -> None:
        """Take back `wait_for_room`."""
        with self._lock:
            self._room_waiters.pop(signal, None)

    def start_flush(self, flush: object) -> list[BatchCompletion]:
        """Send open batches without their linger time until `end_flush`; returns the completions to wait for."""
        with self._lock:
            self._flushes.add(flush)
            self._wake()
            return [batch.completion for queue in self._active for batch in queue.batches()]

    def end_flush(self, flush: object) -> None:
        """Take back `start_flush`, even one that was interrupted."""
        with self._lock:
            self._flushes.discard(flush)

    def counts(self) -> Counts:
        """Return the numbers of records so far."""
        with self._lock:
            queued = sum(batch.count for queue in self._active for batch in queue.batches())
            accepted = self._accepted + sum(queue.open.count for queue in self._active)
            return Counts(accepted, self._acknowledged, self._failed, queued)

    def close(self, error: KafkaError) -> None:
        """Accept nothing more: `append` raises `error` from now on. Records that are queued are still sent."""
        with self._lock:
            if self._closed is None:
                self._closed = error
                self.topics.forget_routes()
            signals = self._take_room_waiters()
            self._wake()
        for signal in signals:
            signal.set()

    def close_after_fork(self, error: ForkedError) -> None:
        """Accept nothing in a child process, which has no sender: its copies of the records are the parent's to send."""
        self.topics.forget_routes()
        self.losses.forget()
        self._closed = error

    # ---- the sender's flow

    def drain(self, now: float, room: dict[int, int], leader_of: Callable[[str, int], int | None]) -> Drained:
        """Take at most one batch of each partition to send (trap 27), and all batches that have expired.

        `room` is the number of bytes that the next request may have, by node id of the brokers that can take one.
        """
        with self._lock:
            return self._drain(now, room, leader_of)

    def _drain(self, now: float, room: dict[int, int], leader_of: Callable[[str, int], int | None]) -> Drained:
        taken: dict[int, list[Batch]] = {}
        expired: list[Batch] = []
        due = NEVER
        leaderless = False
        hurry = bool(self._flushes) or self._closed is not None or bool(self._room_waiters)
        for queue in list(self._active):
            expired += queue.take_expired(now)
            if queue.open.closes <= now:
                self._close(queue)
            batch = queue.head()
            if batch is CLOSED:
                if queue.empty:
                    del self._active[queue]
                continue
            leader = leader_of(queue.topic, queue.index)
            ready_at = queue.ready_at(leader, hurry)
            if ready_at <= now and leader in room and (leader not in taken or batch.size <= room[leader]):
                room[leader] -= batch.size
                taken.setdefault(leader, []).append(self._take(queue, leader))
            else:
                leaderless = leaderless or leader is None
                due = min(due, batch.expires, queue.open.closes, ready_at if ready_at > now else NEVER)
        loss_lines = self.losses.take_lines(now)
        due = min(due, self.losses.next_line_at())
        self._wake_at = NEVER if taken else due
        return Drained(taken, expired, due, leaderless, self._closed is not None and self._empty(), loss_lines)

    def _take(self, queue: PartitionQueue, node: int) -> Batch:
        if not queue.ready:
            self._close(queue)
        # To the end: where requests are full, the other partitions come first next time.
        del self._active[queue]
        self._active[queue] = None
        return queue.take(node)

    def nodes(self, leader_of: Callable[[str, int], int | None]) -> set[int]:
        """Return the node ids of the brokers that lead partitions with records."""
        with self._lock:
            leaders = {leader_of(queue.topic, queue.index) for queue in self._active}
        return {node for node in leaders if node is not None}

    def acknowledge(self, batch: Batch, offset: int | None = None, log_append_time: int = -1) -> None:
        """End a batch that was taken as written at `offset`."""
        with self._lock:
            self.topics.queue_of(batch).acknowledge(batch)
            self._acknowledged += batch.count
            signals = batch.acknowledge(offset, log_append_time) + self._finish(batch)
        _set_all(signals)

    def fail(self, batch: Batch, error: KafkaError) -> None:
        """Give up a batch that was taken."""
        with self._lock:
            self.topics.queue_of(batch).give_up(batch)
            signals = self._fail(batch, error)
        _set_all(signals)

    def fail_all(self, error: KafkaError) -> None:
        """Give up all batches that are open or ready; none may be in flight any more."""
        with self._lock:
            signals = self._fail_all(error)
        _set_all(signals)

    def retry(self, batch: Batch, at: float) -> None:
        """Queue a batch that was taken for another attempt, not before `at`."""
        with self._lock:
            self.topics.queue_of(batch).retry(batch, at)

    def split(self, batch: Batch) -> None:
        """Queue the two halves of a batch that was taken in its place."""
        with self._lock:
            self.topics.queue_of(batch).split(batch)

    def _fail(self, batch: Batch, error: KafkaError) -> list[Signal]:
        self._failed += batch.count
        failed = self.losses.add(batch.topic, batch.count, set(batch.given_callbacks()), error, self._now())
        return batch.fail(error, failed) + self._finish(batch)

    def _fail_all(self, error: KafkaError) -> list[Signal]:
        signals = []
        for queue in self._active:
            if queue.open is not CLOSED:
                self._close(queue)
            for batch in queue.take_all():
                signals += self._fail(batch, error)
        self._active.clear()
        return signals

    def _finish(self, batch: Batch) -> list[Signal]:
        """Give back the room of a batch that has ended; returns the signals to set once the lock is released."""
        self._free += batch.granted
        self.freed += 1
        signals = self._take_room_waiters()
        if batch.callbacks is not None:
            self.finished_callbacks.append(batch)
            signals.append(self.callback_signal)
        return signals

    def _take_room_waiters(self) -> list[Signal]:
        waiting = list(self._room_waiters)
        self._room_waiters.clear()
        return waiting


def _set_all(signals: list[Signal]) -> None:
    for signal in signals:
        signal.set()

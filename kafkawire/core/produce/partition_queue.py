"""Queue of one partition: its open batch, those that wait to be sent, those in flight; and when the next one leaves."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import cast

from kafkawire.core.produce.batch import Batch
from kafkawire.core.produce.deliveries import BatchCompletion
from kafkawire.core.produce.sequences import NO_SEQUENCE, SequenceNumbers
from kafkawire.core.states import Transitions, transition
from kafkawire.net.base import NEVER, Lock, Net

__all__ = ["CLOSED", "PartitionQueue", "QueueState"]


class QueueState(Enum):
    """Rule by which the batches of a partition leave."""

    STARTING = "starting"
    """One numbered batch at a time: no broker has acknowledged any under the present producer id.

    A log that does not know the producer takes whatever sequence comes first, and the batches before it never (KIP-360).
    """
    PIPELINED = "pipelined"
    """Several batches may be in flight."""
    RECOVERING = "recovering"
    """Nothing leaves before all batches in flight are back, after one has failed; then PIPELINED.

    More batches than the five that brokers remember could be on their way otherwise (trap 62).
    """
    RESTARTING = "restarting"
    """Nothing leaves before all batches in flight are back, as the log does not know the producer; then STARTING."""


TRANSITIONS: Transitions[QueueState] = {
    QueueState.STARTING: {QueueState.PIPELINED, QueueState.RESTARTING},
    QueueState.PIPELINED: {QueueState.STARTING, QueueState.RECOVERING, QueueState.RESTARTING},
    QueueState.RECOVERING: {QueueState.PIPELINED, QueueState.RESTARTING},
    QueueState.RESTARTING: {QueueState.STARTING},
}


class PartitionQueue:
    """Batches of one partition that are not acknowledged, and the sequence numbers of the partition.

    The accumulator alone calls it, with its lock held. Nobody else writes its fields.
    """

    __slots__ = ("_numbers", "_retry_at", "in_flight", "index", "node", "open", "ready", "state", "topic")

    def __init__(self, topic: str, index: int) -> None:
        self.topic = topic
        self.index = index
        self.state = QueueState.STARTING
        self.open: Batch = CLOSED
        """The batch that takes records, or CLOSED."""
        self.ready: deque[Batch] = deque()
        """Closed batches in the order in which their records were accepted."""
        self.in_flight: dict[Batch, None] = {}
        """Batches in the order in which they were taken."""
        self.node = -1
        """The broker that the last batch was taken for."""
        self._retry_at = 0.0
        self._numbers = SequenceNumbers()

    # ---- queries

    @property
    def empty(self) -> bool:
        """True if no batch is open, ready or in flight."""
        return self.open is CLOSED and not self.ready and not self.in_flight

    def batches(self) -> list[Batch]:
        """Return every batch that is not acknowledged, as they were accepted."""
        return [*self.in_flight, *self.ready, *([] if self.open is CLOSED else [self.open])]

    def head(self) -> Batch:
        """Return the batch that leaves next; CLOSED if there is none."""
        return self.ready[0] if self.ready else self.open

    def ready_at(self, leader: int | None, hurry: bool) -> float:
        """Return the time at which the head may leave for the leader; NEVER while batches in flight must come back first.

        In a `hurry` an open batch does not wait for its linger time.
        """
        if self.in_flight and (self._is_held_up() or self.node != leader):
            return NEVER
        if self._retry_at > 0.0:
            return self._retry_at
        return 0.0 if self.ready or hurry else self.open.due

    def _is_held_up(self) -> bool:
        """True while batches in flight keep the head: by the state, or as it is new and one of them is sent again.

        That one may have been written, and a broker that has taken five more since would not know it any more.
        """
        if self.state is QueueState.RECOVERING or self.state is QueueState.RESTARTING:
            return True
        if self.state is QueueState.STARTING and next(iter(self.in_flight)).sequence != NO_SEQUENCE:
            return True
        return self.head().attempts == 0 and any(batch.attempts for batch in self.in_flight)

    def is_oldest(self, batch: Batch) -> bool:
        """True if a batch in flight was accepted before all others that are not acknowledged."""
        return next(iter(self.in_flight)) is batch and not (self.ready and self.ready[0].order < batch.order)

    # ---- the user's side: any thread. Each stores only after its last call, so that an interrupt parts no stores.

    def open_batch(self, batch: Batch) -> None:
        """Have a new batch take the records of the partition."""
        batch.open()
        self.open = batch

    def close_batch(self, expires: float) -> int:
        """Queue the open batch to be sent, until `expires`; returns the bytes of its grant that are left over."""
        batch = self.open
        left = batch.close(expires)
        self.open = CLOSED
        self.ready += (batch,)  # append() would be a call, after which an interrupt can come
        return left

    # ---- the sender's flow

    def take(self, node: int) -> Batch:
        """Take the first ready batch, to send it to a broker."""
        batch = self.ready.popleft()
        batch.take()
        self.in_flight[batch] = None
        self.node = node
        self._retry_at = 0.0
        return batch

    def take_expired(self, now: float) -> list[Batch]:
        """Take the ready batches whose time is over, to give them up."""
        expired = []
        while self.ready and self.ready[0].expires <= now:
            batch = self.ready.popleft()
            batch.take()
            self.in_flight[batch] = None
            expired.append(batch)
        return expired

    def take_all(self) -> list[Batch]:
        """Take out all ready batches for good."""
        ready = list(self.ready)
        self.ready.clear()
        return ready

    def acknowledge(self, batch: Batch) -> None:
        """Let go of a batch in flight that a broker has written."""
        if self.state is QueueState.STARTING:
            self._become(QueueState.PIPELINED)
        self._leave_flight(batch)

    def give_up(self, batch: Batch) -> None:
        """Let go of a batch in flight that has failed for good."""
        self._leave_flight(batch)

    def retry(self, batch: Batch, at: float) -> None:
        """Queue a batch in flight for another attempt, not before `at`."""
        self._recover()
        self._leave_flight(batch)
        batch.queue()
        self._insert(batch)
        self._retry_at = at

    def split(self, batch: Batch) -> None:
        """Queue the halves of a batch in flight in its place."""
        self._recover()
        self._leave_flight(batch)
        for half in batch.split():
            half.queue()
            self._insert(half)

    def assign_sequence(self, batch: Batch, producer: tuple[int, int]) -> None:
        """Number a batch under a producer id and epoch, unless it is numbered: retries keep their sequence (trap 61)."""
        if batch.sequence == NO_SEQUENCE:
            batch.number(producer, self._numbers.take(batch.count))

    def restart_sequences(self) -> None:
        """Begin again with sequence 0, under a new producer id or epoch. Nothing may be in flight."""
        self._numbers.restart()
        for batch in self.ready:
            batch.forget_number()
        self._restart()

    def replace_log(self) -> None:
        """Begin again with a log that knows no producer: the topic was deleted and created again."""
        self._restart()

    # ---- within

    def _insert(self, batch: Batch) -> None:
        """Queue a batch before everything that was accepted after it."""
        at = 0
        while at < len(self.ready) and self.ready[at].order < batch.order:
            at += 1
        self.ready.insert(at, batch)

    def _leave_flight(self, batch: Batch) -> None:
        del self.in_flight[batch]
        if self.in_flight:
            return
        if self.state is QueueState.RECOVERING:
            self._become(QueueState.PIPELINED)
        elif self.state is QueueState.RESTARTING:
            self._become(QueueState.STARTING)

    def _recover(self) -> None:
        """Wait for the batches in flight, as one of them has failed."""
        if self.state is QueueState.PIPELINED:
            self._become(QueueState.RECOVERING)
        elif self.state is QueueState.STARTING:
            self._become(QueueState.RESTARTING)

    def _restart(self) -> None:
        """Wait for the batches in flight, and then for the first acknowledgement."""
        aim = QueueState.RESTARTING if self.in_flight else QueueState.STARTING
        if self.state is not aim:
            self._become(aim)

    def _become(self, state: QueueState) -> None:
        self.state = transition(TRANSITIONS, self.state, state, self)

    def __repr__(self) -> str:
        return f"<PartitionQueue {self.topic}-{self.index}: {self.state.value}>"


CLOSED = Batch(BatchCompletion(cast(Net, None), cast(Lock, None), "", -1), (-1, 0), 0.0, NEVER, NEVER, -(1 << 62))
"""Stands for the open batch where there is none: no record fits."""
CLOSED.tick = float("inf")

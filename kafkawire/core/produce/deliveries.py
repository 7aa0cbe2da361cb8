"""Delivery results: the completion of a batch, which handles ask and flows wait for, and the results of one call's rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafkawire.core.produce.losses import FailedBatch
from kafkawire.errors import DeliveryError, KafkaError
from kafkawire.message import RecordMetadata
from kafkawire.net.base import NEVER, Lock, Net, Signal

__all__ = ["BatchCompletion", "Counts", "Runs", "raise_failures", "written_by"]


class Counts(NamedTuple):
    """Records of a producer so far; `accepted` is always the sum of the other three."""

    accepted: int
    acknowledged: int
    failed: int
    queued: int


class BatchCompletion:
    """Completion of one batch: how its records ended, and the flows that wait for that.

    Complete once every record is acknowledged or has failed; where the batch was split, once both halves are. Any thread may
    read, wait and ask for results. `acknowledge`, `fail` and `split` run with the accumulator's lock held, in the sender's
    flow; `acknowledge` and `fail` return the signals to set once the lock is released.
    """

    __slots__ = (
        "_failed", "_halves", "_lock", "_log_append_time", "_net", "_offset", "_parent", "_stamps", "_waiters", "cause", "done",
        "error", "partition", "topic",
    )  # fmt: skip

    def __init__(self, net: Net, lock: Lock, topic: str, partition: int, parent: BatchCompletion | None = None) -> None:
        self.topic = topic
        self.partition = partition
        self.done = False
        self.error: KafkaError | None = None
        """Error with which all records of the batch failed."""
        self.cause: KafkaError | None = None
        """Error of the last attempt to send the batch. Written by the batch, in the sender's flow."""
        self._net = net
        self._lock = lock
        self._offset: int | None = None
        self._log_append_time = -1
        self._stamps: Stamps | None = None
        self._failed: FailedBatch | None = None
        self._parent = parent
        self._halves: list[tuple[int, BatchCompletion]] | None = None
        """(index of its first record, completion) of each half of a batch that was split."""
        self._waiters: dict[Signal, None] = {}

    # ---- any thread

    @property
    def may_have_failures(self) -> bool:
        """True if records of the complete batch may have failed: all of them, or those of one half."""
        return self.error is not None or self._halves is not None

    async def wait_for(self, timeout: float | None) -> bool:
        """Wait until the batch is complete, for at most `timeout` seconds; returns False if it is not."""
        return await self.wait(NEVER if timeout is None else self._net.now() + timeout)

    async def wait(self, deadline: float) -> bool:
        """Wait until the batch is complete; False if the deadline came first."""
        signal = self._net.signal()
        try:
            return await self._wait(signal, deadline)
        finally:
            with self._lock:
                self._waiters.pop(signal, None)

    async def _wait(self, signal: Signal, deadline: float) -> bool:
        while True:
            signal.clear()
            if self._watch(signal):
                return True
            if not await self._net.wait(signal, deadline):
                return self.done

    def _watch(self, signal: Signal) -> bool:
        with self._lock:
            if not self.done:
                self._waiters[signal] = None
            return self.done

    def result(self, index: int) -> RecordMetadata:
        """Return the position of record `index` of a complete batch; raises the error with which it failed.

        The failure counts as reported from then on.
        """
        if self._halves is not None:
            start, half = self._halves[bisect_right(self._halves, index, key=_start) - 1]
            return half.result(index - start)
        if self._failed is not None:
            self._failed.mark_reported(index)
        if self.error is not None:
            raise self.error
        return self._metadata(index)

    def _metadata(self, index: int) -> RecordMetadata:
        offset = None if self._offset is None else self._offset + index
        timestamp: int | None = None
        if self._log_append_time >= 0:
            timestamp = self._log_append_time
        elif self._stamps is not None:
            timestamp = self._stamps[bisect_right(self._stamps, index, key=_start) - 1][1]
        return RecordMetadata(self.topic, self.partition, offset, timestamp)

    # ---- the sender's flow

    def acknowledge(self, offset: int | None, log_append_time: int, stamps: Stamps | None) -> list[Signal]:
        """Complete the batch, which a broker has written at `offset`; `stamps` is None where its format has no timestamps."""
        self._offset = offset
        self._log_append_time = log_append_time
        self._stamps = stamps
        return self._complete()

    def fail(self, error: KafkaError, failed: FailedBatch) -> list[Signal]:
        """Complete the batch, all records of which have failed."""
        self.error = error
        self._failed = failed
        return self._complete()

    def split(self, middle: int) -> tuple[BatchCompletion, BatchCompletion]:
        """Return the completions of two halves, the second from record `middle` on, on which this one depends now."""
        first = BatchCompletion(self._net, self._lock, self.topic, self.partition, self)
        second = BatchCompletion(self._net, self._lock, self.topic, self.partition, self)
        first.cause = second.cause = self.cause
        self._halves = [(0, first), (middle, second)]
        return first, second

    def _complete(self) -> list[Signal]:
        self.done = True
        signals = list(self._waiters)
        self._waiters.clear()
        return signals if self._parent is None else signals + self._parent.complete_half()

    def complete_half(self) -> list[Signal]:
        """Complete the batch, which was split, if that was the second of its halves. Called by the half."""
        return self._complete() if all(half.done for _, half in self._halves or ()) else []


Stamps = list[tuple[int, int]]
"""(index of a record, timestamp in ms from that record on), by index."""


def _start(entry: tuple[int, object]) -> int:
    return entry[0]


Runs = list[tuple[BatchCompletion, int, Sequence[int]]]
"""Rows of one call by batch: (completion, index of the first record in the batch, numbers of the rows from there on)."""


def failures_of(runs: Runs) -> dict[int, KafkaError]:
    """Return the error of every row that failed."""
    return {row: error for completion, at, rows in runs for row, error in _failures(completion, at, rows)}


def _failures(completion: BatchCompletion, at: int, rows: Sequence[int]) -> Iterator[tuple[int, KafkaError]]:
    if not completion.may_have_failures:
        return
    for index, row in enumerate(rows, at):
        try:
            completion.result(index)
        except KafkaError as error:
            yield row, error


def raise_failures(runs: Runs) -> None:
    """Raise a DeliveryError with the error of each row that failed, if some did. All batches must be complete."""
    failed = failures_of(runs)
    if failed:
        raise DeliveryError(f"{len(failed)} records were not written: {next(iter(failed.values()))}", failed)


def written_by(runs: Runs) -> list[RecordMetadata]:
    """Return the position of every row, in the order of the call."""
    found = {row: completion.result(index) for completion, at, rows in runs for index, row in enumerate(rows, at)}
    return [found[row] for row in range(len(found))]

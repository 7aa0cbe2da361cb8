"""Losses: records that failed, without an on_delivery callback, and whose delivery handle nobody has asked.

They are logged while the producer runs and at its end, and raised by the end of a `with` statement.
"""

from __future__ import annotations

from kafkawire.errors import BrokerError, KafkaError
from kafkawire.net.base import NEVER, Lock

__all__ = ["FailedBatch", "Losses"]

PATIENCE = 1.0
"""Seconds from a failure to its line in the log, in which `result()` and its like may ask first."""
PAUSE = 30.0
"""Seconds between two lines about the same topic and error."""


class LossGroup:
    """Losses of one topic by one kind of error, and the time of their next line in the log."""

    __slots__ = ("earliest", "error", "line_at", "lines", "records", "topic", "unlogged")

    def __init__(self, topic: str, error: KafkaError) -> None:
        self.topic = topic
        self.error = error
        """Latest error of this kind."""
        self.records = 0
        """Failed records that nobody has asked about."""
        self.unlogged = 0
        """Part of `records` that no line in the log has counted yet."""
        self.lines = 0
        """Lines logged so far."""
        self.earliest = 0.0
        """Time before which no further line is logged."""
        self.line_at = NEVER
        """Time of the next line."""

    def add(self, records: int, error: KafkaError, now: float) -> None:
        """Count records that failed."""
        if records and not self.unlogged:
            self.line_at = max(now + PATIENCE, self.earliest)
        self.error = error
        self.records += records
        self.unlogged += records

    def remove(self, line: int) -> None:
        """Take out one record, which failed when `line` lines had been logged."""
        self.records -= 1
        if line == self.lines:
            self.unlogged -= 1

    def take_line(self, now: float) -> list[str]:
        """Return the line to log now, if there still are unlogged records, and mark them as logged."""
        line = [_describe({self: self.unlogged})] if self.unlogged else []
        if line:
            self.earliest = now + PAUSE
        self.mark_logged()
        return line

    def mark_logged(self) -> None:
        """Count a line in the log about all unlogged records."""
        self.line_at = NEVER
        self.lines += 1
        self.unlogged = 0


class FailedBatch:
    """Failed records of one batch, and which of them were reported to a callback or through a handle.

    Any thread may mark; that takes the accumulator's lock.
    """

    __slots__ = ("_group", "_line", "_lock", "_reported")

    def __init__(self, lock: Lock, group: LossGroup, reported: set[int]) -> None:
        self._lock = lock
        self._group = group
        self._line = group.lines
        self._reported = reported

    def mark_reported(self, index: int) -> None:
        """Count record `index` as reported: it is no loss any more."""
        with self._lock:
            if index not in self._reported:
                self._reported.add(index)
                self._group.remove(self._line)


class Losses:
    """Losses of one producer by topic and kind of error.

    Any thread may call `summary` and `take_last_line`, which take the accumulator's lock. The accumulator calls the other
    methods with that lock held.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._groups: dict[tuple[str, type, int | None], LossGroup] = {}

    def forget(self) -> None:
        """Forget all losses, in a child process after fork(): they are the parent's to report. Takes no lock."""
        self._groups.clear()

    def add(self, topic: str, count: int, reported: set[int], error: KafkaError, now: float) -> FailedBatch:
        """Count a failed batch of `count` records; those with an index in `reported` have a callback."""
        group = self._group(topic, error)
        failed = FailedBatch(self._lock, group, reported)
        group.add(count - len(reported), error, now)
        return failed

    def _group(self, topic: str, error: KafkaError) -> LossGroup:
        key = topic, type(error), error.code if isinstance(error, BrokerError) else None
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = LossGroup(topic, error)
        return group

    def next_line_at(self) -> float:
        """Return the time at which `take_lines` has the next line; NEVER without losses to log."""
        return min((group.line_at for group in self._groups.values()), default=NEVER)

    def take_lines(self, now: float) -> list[str]:
        """Return the lines to log now, and mark their losses as logged."""
        return [line for group in self._groups.values() if group.line_at <= now for line in group.take_line(now)]

    def take_last_line(self) -> str | None:
        """Return one line about all losses that were not logged, and mark them as logged; None if there are none."""
        with self._lock:
            unlogged = self._unlogged()
            for group in unlogged:
                group.mark_logged()
        return _describe(unlogged) if unlogged else None

    def summary(self) -> str | None:
        """Return one sentence about all losses, logged or not; None if there are none."""
        with self._lock:
            left = self._left()
        return _describe(left) if left else None

    def _unlogged(self) -> dict[LossGroup, int]:
        return {group: group.unlogged for group in self._groups.values() if group.unlogged}

    def _left(self) -> dict[LossGroup, int]:
        return {group: group.records for group in self._groups.values() if group.records}


def _describe(counts: dict[LossGroup, int]) -> str:
    parts = "; ".join(f"{records} of topic {group.topic!r}: {group.error}" for group, records in counts.items())
    total = sum(counts.values())
    # "Not acknowledged", not "not written": a broker may have written those that it was still to answer.
    return f"{total} {'record was' if total == 1 else 'records were'} not acknowledged, and nobody has asked: {parts}"

"""Failed records that nobody has asked about: the lines that are logged while the producer runs, and at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.errors import BrokerError, KafkaError
from kafkawire.net.base import NEVER

if TYPE_CHECKING:
    from kafkawire.core.produce.batch import Batch

__all__ = ["Failure", "Losses"]

PATIENCE = 1.0
"""Seconds from a failure to its line in the log, in which `result()` and its like may ask first."""
PAUSE = 30.0
"""Seconds between two lines about the same topic and error."""


class Loss:
    """Records of one topic that failed in one way."""

    __slots__ = ("due", "earliest", "error", "fresh", "lines", "records", "topic")

    def __init__(self, topic: str, error: KafkaError) -> None:
        self.topic = topic
        self.error = error
        """The latest."""
        self.records = 0
        """Failed records that nobody has asked about."""
        self.fresh = 0
        """Part of `records` that was not logged yet."""
        self.lines = 0
        self.earliest = 0.0
        """When the next line may come."""
        self.due = NEVER
        """When it comes."""


class Failure:
    """Where a failed batch is counted, and which of its records somebody has been told about."""

    __slots__ = ("line", "loss", "told")

    def __init__(self, loss: Loss, told: set[int]) -> None:
        self.loss = loss
        self.line = loss.lines
        self.told = told


class Losses:
    """Counts by topic and error. Guarded by the accumulator's lock.

    Records with an `on_delivery` do not count, nor do those whose handle is asked, even if that is later.
    """

    def __init__(self) -> None:
        self._losses: dict[tuple[str, type, int | None], Loss] = {}

    def add(self, batch: Batch, error: KafkaError, now: float) -> None:
        """A batch has failed."""
        topic = batch.queue.topic
        key = topic, type(error), error.code if isinstance(error, BrokerError) else None
        loss = self._losses.get(key)
        if loss is None:
            loss = self._losses[key] = Loss(topic, error)
        told = {index for index, callback in (batch.callbacks or {}).items() if callback is not None and index < batch.count}
        batch.failure = Failure(loss, told)
        records = batch.count - len(told)
        if records and not loss.fresh:
            loss.due = max(now + PATIENCE, loss.earliest)
        loss.error = error
        loss.records += records
        loss.fresh += records

    def tell(self, failure: Failure, index: int) -> None:
        """Somebody is told about a record of a failed batch."""
        if index in failure.told:
            return
        failure.told.add(index)
        failure.loss.records -= 1
        if failure.line == failure.loss.lines:
            failure.loss.fresh -= 1

    def due(self) -> float:
        """When `lines` will have something."""
        return min((loss.due for loss in self._losses.values()), default=NEVER)

    def lines(self, now: float) -> list[str]:
        """Lines to be logged now."""
        due = [loss for loss in self._losses.values() if loss.due <= now]
        said = [_said({loss: loss.fresh}) for loss in due if loss.fresh]
        for loss in due:
            loss.due = NEVER
            loss.earliest = now + PAUSE if loss.fresh else loss.earliest
            loss.lines += 1
            loss.fresh = 0
        return said

    def last_line(self) -> str | None:
        """All failures that were not logged yet, in one line; marks them as logged."""
        fresh = {loss: loss.fresh for loss in self._losses.values() if loss.fresh}
        for loss in fresh:
            loss.due = NEVER
            loss.lines += 1
            loss.fresh = 0
        return _said(fresh) if fresh else None

    def summary(self) -> str | None:
        """All that nobody has asked about."""
        left = {loss: loss.records for loss in self._losses.values() if loss.records}
        return _said(left) if left else None


def _said(counts: dict[Loss, int]) -> str:
    parts = "; ".join(f"{records} of topic {loss.topic!r}: {loss.error}" for loss, records in counts.items())
    total = sum(counts.values())
    # Some may have been written all the same: those that a broker was still to answer.
    return f"{total} {'record was' if total == 1 else 'records were'} not acknowledged, and nobody has asked: {parts}"

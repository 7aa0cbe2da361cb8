"""What one partition remembers of idempotent producers: the epoch and last batches of each, as Kafka's ProducerStateManager."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkawire.errors import ErrorCode

__all__ = ["Appended", "ProducerStates"]

_WINDOW = 5
_SEQUENCE_LIMIT = 2**31


class Appended(NamedTuple):
    """A batch that was written: its sequence numbers, and what a repeat of it is answered."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int
    """The latest in the batch; Kafka sends it as log append time."""


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[Appended] = field(default_factory=lambda: deque(maxlen=_WINDOW))


class ProducerStates:
    """Sequence checks. A producer that is not known may start anywhere, as after Kafka has expired it (KIP-360)."""

    __slots__ = ("_producers",)

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def check(self, producer_id: int, epoch: int, first: int, count: int) -> ErrorCode | Appended | None:
        """Why a batch must be refused, or the one it repeats, or None for a batch that is next.

        Kafka acknowledges a repeat of one of the last five batches with the original offset; what repeats an older one is
        out of order to it.
        """
        producer = self._producers.get(producer_id)
        if producer is None:
            return None
        if epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if epoch > producer.epoch:
            return None if first == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        last = _last_sequence(first, count)
        for batch in producer.batches:
            if batch.first_sequence == first and batch.last_sequence == last:
                return batch
        expected = (producer.batches[-1].last_sequence + 1) % _SEQUENCE_LIMIT
        return None if first == expected else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def last_batches(self) -> Iterator[tuple[int, int, Appended]]:
        """Id, epoch and last batch of every producer."""
        return ((producer_id, producer.epoch, producer.batches[-1]) for producer_id, producer in self._producers.items())

    def appended(self, producer_id: int, epoch: int, first: int, count: int, base_offset: int, timestamp: int) -> None:
        """Remember a batch that was written."""
        producer = self._producers.get(producer_id)
        if producer is None or producer.epoch != epoch:
            producer = self._producers[producer_id] = _Producer(epoch)
        producer.batches.append(Appended(first, _last_sequence(first, count), base_offset, timestamp))


def _last_sequence(first: int, count: int) -> int:
    """Sequence numbers are int32 that wrap to 0 (trap 28)."""
    return (first + count - 1) % _SEQUENCE_LIMIT

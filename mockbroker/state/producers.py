"""Idempotent producers of one partition: the epoch and last batches of each (Kafka's ProducerStateManager)."""

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
    """Appended batch: its sequence numbers, and the answer to a repeat of it."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int
    """Latest timestamp in the batch; Kafka answers a repeat with it as log append time."""


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[Appended] = field(default_factory=lambda: deque(maxlen=_WINDOW))


class ProducerStates:
    """Checks of sequence numbers. An unknown producer may start at any number, as after Kafka has expired it (KIP-360)."""

    __slots__ = ("_producers",)

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def check(self, producer_id: int, epoch: int, first: int, count: int) -> ErrorCode | Appended | None:
        """Check a batch: returns the error of a refused one, the batch that it repeats, or None for the batch that is next.

        Kafka acknowledges a repeat of one of the last five batches with the original offset; a repeat of an older batch is
        out of order.
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
        """Remember an appended batch."""
        producer = self._producers.get(producer_id)
        if producer is None or producer.epoch != epoch:
            producer = self._producers[producer_id] = _Producer(epoch)
        producer.batches.append(Appended(first, _last_sequence(first, count), base_offset, timestamp))


def _last_sequence(first: int, count: int) -> int:
    """Last sequence number of a batch. The numbers are int32 and wrap to 0 (trap 28)."""
    return (first + count - 1) % _SEQUENCE_LIMIT

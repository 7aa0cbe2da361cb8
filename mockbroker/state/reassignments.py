"""Partitions on their way to other replicas (KIP-455): which there are, and when they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mockbroker.state.timers import Timer, Timers
    from mockbroker.state.topics import Partition

__all__ = ["Reassignment", "Reassignments"]


class Reassignment(NamedTuple):
    """One partition that moves. Until it has, it has the replicas of both sides, and those to add are not in sync."""

    partition: Partition
    adding: Sequence[int]
    removing: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Move:
    before: Sequence[int]
    target: Sequence[int]
    arrival: Timer


class Reassignments:
    """The reassignments of a cluster.

    seconds: how long each takes, on the cluster's clock. finish: gives a partition its replicas for good.
    """

    def __init__(self, timers: Timers, seconds: float, finish: Callable[[Partition, Sequence[int]], None]) -> None:
        self._timers = timers
        self._seconds = seconds
        self._finish = finish
        self._moves: dict[Partition, _Move] = {}

    def __iter__(self) -> Iterator[Reassignment]:
        for partition, move in self._moves.items():
            removing = [replica for replica in move.before if replica not in move.target]
            yield Reassignment(partition, self.adding(partition), removing)

    def before(self, partition: Partition) -> Sequence[int]:
        """The replicas that a partition has, or had when it began to move."""
        move = self._moves.get(partition)
        return partition.replicas if move is None else move.before

    def adding(self, partition: Partition) -> Sequence[int]:
        """New replicas that are not in sync yet."""
        move = self._moves.get(partition)
        return () if move is None else [replica for replica in move.target if replica not in move.before]

    def begin(self, partition: Partition, target: Sequence[int], now: float) -> None:
        """Move a partition, wherever it was on its way to. Where no replica is added, it is there at once."""
        before = list(self.before(partition))
        self.forget(partition)
        if not self._seconds or set(target) <= set(before):
            self._finish(partition, target)
            return
        partition.replicas = [*target, *(replica for replica in before if replica not in target)]
        arrival = self._timers.at(now + self._seconds, partial(self._arrive, partition))
        self._moves[partition] = _Move(before, list(target), arrival)

    def cancel(self, partition: Partition) -> bool:
        """Let a partition go back to the replicas that it had; whether it was on its way at all."""
        if partition not in self._moves:
            return False
        before = self.before(partition)
        self.forget(partition)
        self._finish(partition, before)
        return True

    def forget(self, partition: Partition) -> None:
        """Let a partition arrive nowhere. Does nothing when it does not move."""
        move = self._moves.pop(partition, None)
        if move is not None:
            move.arrival.cancel()

    def _arrive(self, partition: Partition, _now: float) -> None:
        self._finish(partition, self._moves.pop(partition).target)

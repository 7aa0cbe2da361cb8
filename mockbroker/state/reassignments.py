"""Reassignments (KIP-455): the partitions that move to other replicas, and the time of their arrival."""

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
    """One partition that moves. Until it arrives it has the old and the new replicas, and the new ones are not in sync."""

    partition: Partition
    adding: Sequence[int]
    removing: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Move:
    before: Sequence[int]
    target: Sequence[int]
    arrival: Timer


class Reassignments:
    """Reassignments of a cluster.

    seconds: how long each takes, on the cluster's clock. set_replicas: gives a partition the replicas of both sides while it
    moves. finish: gives it its replicas for good.
    """

    def __init__(
        self,
        timers: Timers,
        seconds: float,
        set_replicas: Callable[[Partition, Sequence[int]], None],
        finish: Callable[[Partition, Sequence[int]], None],
    ) -> None:
        self._timers = timers
        self._seconds = seconds
        self._set_replicas = set_replicas
        self._finish = finish
        self._moves: dict[Partition, _Move] = {}

    def __iter__(self) -> Iterator[Reassignment]:
        for partition, move in self._moves.items():
            removing = [replica for replica in move.before if replica not in move.target]
            yield Reassignment(partition, self.adding(partition), removing)

    def before(self, partition: Partition) -> Sequence[int]:
        """Replicas that a partition has, or had when it began to move."""
        move = self._moves.get(partition)
        return partition.replicas if move is None else move.before

    def adding(self, partition: Partition) -> Sequence[int]:
        """New replicas of a partition that are not in sync yet."""
        move = self._moves.get(partition)
        return () if move is None else [replica for replica in move.target if replica not in move.before]

    def begin(self, partition: Partition, target: Sequence[int], now: float) -> None:
        """Move a partition, in place of a move under way. It arrives at once if no replica is added."""
        before = list(self.before(partition))
        self.forget(partition)
        if not self._seconds or set(target) <= set(before):
            self._finish(partition, target)
            return
        self._set_replicas(partition, [*target, *(replica for replica in before if replica not in target)])
        arrival = self._timers.at(now + self._seconds, partial(self._arrive, partition))
        self._moves[partition] = _Move(before, list(target), arrival)

    def cancel(self, partition: Partition) -> bool:
        """Give a partition that moves its old replicas back; False if it does not move."""
        if partition not in self._moves:
            return False
        before = self.before(partition)
        self.forget(partition)
        self._finish(partition, before)
        return True

    def forget(self, partition: Partition) -> None:
        """End the move of a partition where it is. Does nothing if it does not move."""
        move = self._moves.pop(partition, None)
        if move is not None:
            move.arrival.cancel()

    def _arrive(self, partition: Partition, _now: float) -> None:
        self._finish(partition, self._moves.pop(partition).target)

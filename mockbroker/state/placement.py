"""Placement of new partitions: on which brokers their replicas are, as chosen here or by a client."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.state.brokers import Brokers

__all__ = ["check_assignments", "check_replicas", "place_replicas"]


def place_replicas(
    brokers: Brokers, partitions: Iterable[int], replication_factor: int, *, on_offline: bool
) -> list[list[int]]:
    """Choose replicas for the partitions with these indexes, on brokers that are online.

    on_offline: offline brokers are used where the others are too few, as by KRaft. Raises INVALID_REPLICATION_FACTOR.
    """
    online = [broker.id for broker in brokers.online()]
    usable = online + [each for each in brokers if each not in online] if on_offline else online
    if replication_factor < 1:
        reason = "Replication factor must be larger than 0, or -1 to use the default value."
        raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    if replication_factor > len(usable):
        reason = (
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
            f"{replication_factor} cannot be reached because only {len(usable)} broker(s) are registered or some brokers "
            "have all their log directories cordoned."
        )
        raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    placed = _spread(online, partitions, min(replication_factor, len(online)))
    return [[*replicas, *usable[len(online) : replication_factor]] for replicas in placed]


def _spread(brokers: Sequence[int], partitions: Iterable[int], replication_factor: int) -> list[list[int]]:
    """Spread replicas over brokers in a ring: the first broker leads partition 0, the second one partition 1."""
    ring = [*brokers, *brokers]
    return [ring[partition % len(brokers) :][:replication_factor] for partition in partitions]


def check_assignments(
    assignments: Sequence[Sequence[int]], brokers: Collection[int], size: int | None = None
) -> list[list[int]]:
    """Check the replicas that a client chose for new partitions: for each `size`, or as many as for the first.

    Raises INVALID_REPLICA_ASSIGNMENT.
    """
    for replicas in assignments:
        check_replicas(replicas, brokers)
        size = len(replicas) if size is None else size
        if len(replicas) != size:
            reason = (
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
                f"consistent with previous partitions, which have {size} replica(s)."
            )
            raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    return [list(replicas) for replicas in assignments]


def check_replicas(replicas: Sequence[int], brokers: Collection[int]) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT for replicas that no partition can have."""
    reason = None
    unknown = next((replica for replica in replicas if replica not in brokers), None)
    twice = next((replica for replica in sorted(replicas) if replicas.count(replica) > 1), None)
    if not replicas:
        reason = "an empty replica list."
    elif unknown is not None:
        reason = f"broker {unknown}, but no such broker is registered."
    elif twice is not None:
        reason = f"the broker {twice} more than once."
    if reason is not None:
        raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {reason}")

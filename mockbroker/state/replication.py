"""Replicas and leaders of partitions (Kafka's ReplicationControlManager): elections, in-sync replicas, moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.state.brokers import Brokers
from mockbroker.state.placement import check_replicas
from mockbroker.state.reassignments import Reassignments
from mockbroker.state.timers import Timers
from mockbroker.state.topics import NO_LEADER, Partition

if TYPE_CHECKING:
    from mockbroker.state.listener import ClusterListener

__all__ = ["Replication"]


class Replication:
    """Replicas and leaders of all partitions of a cluster, which nothing else changes.

    reassignment_seconds: how long a partition takes to move to other replicas when a client asks for it. listeners: told of
    new leaders.
    """

    def __init__(
        self, brokers: Brokers, timers: Timers, reassignment_seconds: float, listeners: Sequence[ClusterListener]
    ) -> None:
        self._brokers = brokers
        self._listeners = listeners
        self.reassignments = Reassignments(timers, reassignment_seconds, self._set_replicas, self._place)

    # Leaders

    def begin(self, partition: Partition) -> None:
        """Elect the first leader of a new partition."""
        self._elect(partition, self._brokers.first_online(partition.replicas))

    def end(self, partition: Partition) -> None:
        """Leave a deleted partition without leader, so that fetches that wait for it are answered."""
        self.reassignments.forget(partition)
        self._elect(partition, NO_LEADER)

    def broker_stopped(self, broker_id: int, partitions: Iterable[Partition]) -> None:
        """Move the leaders from a broker that went offline to in-sync replicas."""
        for partition in partitions:
            if partition.leader == broker_id:
                self._elect(partition, self._brokers.first_online(self._synced(partition)))

    def broker_started(self, broker_id: int, partitions: Iterable[Partition]) -> None:
        """Let a broker lead its partitions without leader. The others wait for a preferred election, as in Kafka."""
        for partition in partitions:
            if partition.leader == NO_LEADER and broker_id in self._synced(partition):
                self._elect(partition, broker_id)

    def broker_removed(self, broker_id: int, partitions: Iterable[Partition]) -> None:
        """Replace a broker that is gone in the replicas of partitions, as far as there are others."""
        for partition in partitions:
            if broker_id in partition.replicas:
                spare = [each for each in self._brokers if each not in partition.replicas]
                others = [each for each in partition.replicas if each != broker_id]
                self.set_replicas(partition, (others + spare)[: len(partition.replicas)])

    def move_leader(self, partition: Partition, broker_id: int) -> None:
        """Make a broker the leader, and a replica if it was none; NO_LEADER leaves the partition without leader."""
        if broker_id != NO_LEADER and not self._brokers.existing(broker_id).online:
            name = f"{partition.topic.name}-{partition.index}"
            raise broker_error(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is stopped and cannot lead {name}")
        if broker_id != NO_LEADER and broker_id not in partition.replicas:
            self._set_replicas(partition, [broker_id, *partition.replicas[1:]])
        self._elect(partition, broker_id)

    def elect_leader(self, partition: Partition, *, unclean: bool) -> ErrorCode | None:
        """Elect the preferred replica, the first; or, unclean, any replica that is online.

        Returns the error if there is nothing to do, or no broker to elect.
        """
        if unclean:
            if partition.leader != NO_LEADER:
                return ErrorCode.ELECTION_NOT_NEEDED
            chosen = self._brokers.first_online(partition.replicas)
            failure = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        else:
            if partition.leader == partition.replicas[0]:
                return ErrorCode.ELECTION_NOT_NEEDED
            chosen = self._brokers.first_online(one for one in partition.replicas[:1] if one in self._synced(partition))
            failure = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if chosen == NO_LEADER:
            return failure
        self._elect(partition, chosen)
        return None

    def _elect(self, partition: Partition, leader: int) -> None:
        partition.elect(leader)
        for listener in self._listeners:
            listener.leader_changed(partition)

    # Replicas

    def set_replicas(self, partition: Partition, replicas: Sequence[int]) -> None:
        """Move a partition to other replicas at once. The leader stays if it can, else the first that is online takes over."""
        check_replicas(replicas, self._brokers)
        self.reassignments.forget(partition)
        self._place(partition, replicas)

    def in_sync_replicas(self, partition: Partition) -> list[int]:
        """Replicas that have the log and are online; if none is, the first of them (Kafka never empties the set)."""
        synced = self._synced(partition)
        return [replica for replica in synced if self._brokers[replica].online] or synced[:1]

    def offline_replicas(self, partition: Partition) -> list[int]:
        """Replicas on brokers that are stopped."""
        return [replica for replica in partition.replicas if not self._brokers[replica].online]

    def _set_replicas(self, partition: Partition, replicas: Sequence[int]) -> None:
        partition.replicas = list(replicas)

    def _place(self, partition: Partition, replicas: Sequence[int]) -> None:
        """Give a partition replicas, and elect a leader among them if it has none of them as leader."""
        self._set_replicas(partition, replicas)
        if partition.leader not in replicas:
            self._elect(partition, self._brokers.first_online(replicas))
        partition.log.changed.wake()  # clients that read from a follower have to know

    def _synced(self, partition: Partition) -> list[int]:
        """Replicas that have the log."""
        adding = self.reassignments.adding(partition)
        return [replica for replica in partition.replicas if replica not in adding]

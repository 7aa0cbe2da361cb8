"""Groups of a cluster: the group coordinator of all brokers, with groups of any kind and their committed offsets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

from kafkawire.errors import ErrorCode, broker_error
from kafkawire.message import TopicPartition
from mockbroker.groups.classic_protocol import ClassicProtocol
from mockbroker.groups.group import Group, GroupProtocol
from mockbroker.groups.offsets import CommittedOffset, Offsets
from mockbroker.state.cluster import Cluster
from mockbroker.state.internal_topics import OFFSETS_TOPIC
from mockbroker.state.listener import ClusterListener
from mockbroker.state.topics import NO_LEADER, Partition, Topic

__all__ = ["Groups"]

G = TypeVar("G", bound=Group)


class Groups(ClusterListener):
    """Groups of a cluster by id, whichever broker coordinates them.

    `classic` is the protocol of classic groups; `protocols` has those of all kinds.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.offsets = Offsets(cluster.store)
        self.classic = ClassicProtocol(cluster)
        self.protocols: dict[str, GroupProtocol[Any]] = {"classic": self.classic}
        self._timers = cluster.timers
        self._config = cluster.config
        self._groups: dict[str, Group] = {}
        self._sweeping = False
        cluster.listeners.append(self)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def find(self, group_id: str) -> Group | None:
        """Find a group of any kind."""
        return self._groups.get(group_id)

    def find_of(self, protocol: GroupProtocol[G], group_id: str) -> G | None:
        """Find a group of one kind."""
        group = self._groups.get(group_id)
        return group if isinstance(group, protocol.group_class) else None

    def existing(self, group_id: str) -> Group:
        """Find a group of any kind. Raises GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if group is None:
            raise broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id!r}, only {sorted(self._groups)}")
        return group

    def create(self, protocol: GroupProtocol[G], group_id: str, now: float) -> G:
        """Create a group of a kind under an id that no group has."""
        group = protocol.new_group(group_id, now)
        self._groups[group_id] = group
        self._sweep_later(now)
        return group

    def find_or_create(self, group_id: str, now: float) -> Group:
        """Find a group of any kind, or create the classic group that holds the commits of clients without membership."""
        return self._groups.get(group_id) or self.create(self.classic, group_id, now)

    def delete(self, group_id: str) -> ErrorCode | None:
        """Delete a group that has no members, with its offsets. Returns the error if it cannot be deleted."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if not group.is_empty:
            return ErrorCode.NON_EMPTY_GROUP
        self._forget(group)
        return None

    def commit(self, group_id: str, partition: TopicPartition, offset: int, now: float) -> None:
        """Commit as an administrator. Raises NON_EMPTY_GROUP for a group with members, which would overwrite the commit."""
        group = self.find_or_create(group_id, now)
        if not group.is_empty:
            reason = f"group {group_id!r} has members, {', '.join(group.member_ids)}: end them before its offsets are changed"
            raise broker_error(ErrorCode.NON_EMPTY_GROUP, reason)
        self.offsets.commit(group_id, partition, CommittedOffset(offset, committed_at=now))

    def keep_member(self, group: Group, member_id: str, now: float) -> None:
        """Begin the session of a member anew, since it has committed."""
        self.protocols[group.type].keep_member(group, member_id, now)

    # Changes of the cluster

    def topic_deleted(self, topic: Topic) -> None:
        """Delete the topic's committed offsets, or every group with the topic that keeps them."""
        self.offsets.delete_topic(topic.name)
        if topic.name == OFFSETS_TOPIC:
            for group in list(self):
                self._forget(group)

    def leader_changed(self, partition: Partition) -> None:
        """Unload the groups that the partition keeps, and load them again if it has a new leader."""
        if partition.topic.name != OFFSETS_TOPIC:
            return
        for group in [group for group in self if partition.topic.keeper(group.id) is partition]:
            group.unload()
            if partition.leader != NO_LEADER:
                self._timers.at(0.0, partial(self.protocols[group.type].load, group))

    # Expiry

    def _sweep_later(self, now: float) -> None:
        """Look for expired offsets every now and then, as long as there are groups."""
        if not self._sweeping:
            self._sweeping = True
            interval = int(self._config["offsets.retention.check.interval.ms"]) / 1000
            self._timers.at(now + interval, self._sweep)

    def _sweep(self, now: float) -> None:
        """Delete expired offsets, and groups that have neither offsets nor members."""
        self._sweeping = False
        for group in list(self):
            self.offsets.expire(group.id, partial(self._is_expired, group, now))
            if group.is_empty and not self.offsets.of_group(group.id):
                self._forget(group)
        if self._groups:
            self._sweep_later(now)

    def _is_expired(self, group: Group, now: float, partition: TopicPartition, committed: CommittedOffset) -> bool:
        """True if a committed offset has been unused for as long as brokers retain it (KIP-211)."""
        since = group.unused_since(committed)
        if since is None or group.is_subscribed(partition.topic):
            return False
        return committed.expired(now, since, int(self._config["offsets.retention.minutes"]) * 60)

    def _forget(self, group: Group) -> None:
        """Delete a group with its offsets."""
        del self._groups[group.id]
        self.offsets.delete_group(group.id)
        self.protocols[group.type].forget(group)

"""The groups of a cluster: which there are, what they have committed, and how they come and go. Classic groups for now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from kafkawire.errors import ErrorCode, broker_error
from kafkawire.message import TopicPartition
from mockbroker.groups.classic_protocol import ClassicProtocol
from mockbroker.groups.group import ClassicGroup, GroupState
from mockbroker.groups.offsets import CommittedOffset
from mockbroker.state.cluster import Cluster
from mockbroker.state.internal_topics import OFFSETS_TOPIC
from mockbroker.state.listener import ClusterListener
from mockbroker.state.topics import NO_LEADER, Partition, Topic

__all__ = ["Groups"]


class Groups(ClusterListener):
    """Groups of a cluster, whichever broker coordinates them."""

    def __init__(self, cluster: Cluster) -> None:
        self.classic = ClassicProtocol(cluster.timers, cluster.config, cluster.profile.version)
        self._timers = cluster.timers
        self._config = cluster.config
        cluster.listeners.append(self)
        self._groups: dict[str, ClassicGroup] = {}
        self._sweeping = False

    def __iter__(self) -> Iterator[ClassicGroup]:
        return iter(self._groups.values())

    def find(self, group_id: str) -> ClassicGroup | None:
        return self._groups.get(group_id)

    def existing(self, group_id: str) -> ClassicGroup:
        """The group. Raises GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if group is None:
            raise broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id!r}, only {sorted(self._groups)}")
        return group

    def find_or_create(self, group_id: str, now: float) -> ClassicGroup:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = ClassicGroup(group_id, now)
            self._sweep_later(now)
        return group

    def delete(self, group_id: str) -> ErrorCode | None:
        """Delete a group that has no members, with its offsets; or why not."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        del self._groups[group_id]
        return None

    def committed(self, group_id: str, partition: TopicPartition) -> CommittedOffset | None:
        return self.all_committed(group_id).get(partition)

    def all_committed(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """Every committed offset of a group, in the order of the first commits."""
        group = self._groups.get(group_id)
        return {} if group is None else group.offsets

    def commit(self, group_id: str, partition: TopicPartition, offset: int, now: float) -> None:
        """Commit for a group from outside. Raises NON_EMPTY_GROUP while it has members: they would commit what they know."""
        group = self.find_or_create(group_id, now)
        if group.state is not GroupState.EMPTY:
            reason = f"group {group_id!r} has members, {', '.join(group.members)}: end them before its offsets are changed"
            raise broker_error(ErrorCode.NON_EMPTY_GROUP, reason)
        group.offsets[partition] = CommittedOffset(offset, committed_at=now)

    def topic_deleted(self, topic: Topic) -> None:
        """Delete the topic's committed offsets, or every group with the topic that keeps them."""
        for group in self._groups.values():
            group.offsets = {at: committed for at, committed in group.offsets.items() if at.topic != topic.name}
        if topic.name == OFFSETS_TOPIC:
            self._groups.clear()

    def leader_changed(self, partition: Partition) -> None:
        """Unload the groups that the partition keeps; with a new coordinator the sessions of their members begin anew."""
        if partition.topic.name != OFFSETS_TOPIC:
            return
        for group in [group for group in self._groups.values() if partition.topic.keeper(group.id) is partition]:
            group.unload()
            if partition.leader != NO_LEADER:
                self._timers.at(0.0, partial(self._begin_sessions, group))

    def _begin_sessions(self, group: ClassicGroup, now: float) -> None:
        for member in group.members.values():
            self.classic.keep_session(group, member, now)

    def _sweep_later(self, now: float) -> None:
        """Look for what is too old every now and then, as long as there are groups."""
        if not self._sweeping:
            self._sweeping = True
            interval = int(self._config["offsets.retention.check.interval.ms"]) / 1000
            self._timers.at(now + interval, self._sweep)

    def _sweep(self, now: float) -> None:
        """Forget old positions, and groups that have neither positions nor members."""
        self._sweeping = False
        retention = int(self._config["offsets.retention.minutes"]) * 60
        for group in list(self._groups.values()):
            group.expire_offsets(now, retention)
            if group.state is GroupState.EMPTY and not group.offsets:
                del self._groups[group.id]
        if self._groups:
            self._sweep_later(now)

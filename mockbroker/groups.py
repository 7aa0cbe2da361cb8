"""What the group coordinators know: committed offsets. Membership will live here too."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkawire.errors import ErrorCode
from kafkawire.message import TopicPartition

__all__ = ["CommittedOffset", "Group", "Groups"]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A committed position."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(slots=True)
class Group:
    """One group, which has no members: it holds what simple consumers and tools commit."""

    offsets: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)


class Groups:
    """All groups of the cluster, whichever broker coordinates them."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}

    def check_commit(self, group_id: str, generation: int) -> ErrorCode | None:
        """Why a commit must be refused. A group without members takes only those that claim no membership."""
        if generation < 0:
            return None
        return ErrorCode.UNKNOWN_MEMBER_ID if group_id in self._groups else ErrorCode.GROUP_ID_NOT_FOUND

    def commit(self, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        self._groups.setdefault(group_id, Group()).offsets[partition] = committed

    def committed(self, group_id: str, partition: TopicPartition) -> CommittedOffset | None:
        return self.all_committed(group_id).get(partition)

    def all_committed(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """Every committed offset of a group, in the order of the first commits."""
        group = self._groups.get(group_id)
        return {} if group is None else group.offsets

    def forget_topic(self, topic: str) -> None:
        """A deleted topic takes its committed offsets along."""
        for group in self._groups.values():
            group.offsets = {partition: offset for partition, offset in group.offsets.items() if partition.topic != topic}

"""Committed offsets of all groups, whatever kind a group is and whether it has members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass

from kafkawire.message import TopicPartition
from mockbroker.state.store import Store

__all__ = ["CommittedOffset", "Offsets"]

_TABLE = "committed offsets"


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Committed offset of a partition. Times are those of the driver, in seconds."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    committed_at: float = 0.0
    expires_at: float | None = None
    """Set if the commit itself said how long it lasts, as OffsetCommit 2 to 4 may."""

    def expired(self, now: float, since: float, retention: float) -> bool:
        """True if the offset is to be deleted: at its own time, or else `retention` seconds after `since`."""
        return now >= (since + retention if self.expires_at is None else self.expires_at)


class Offsets:
    """Committed offsets by group and partition."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._groups: dict[str, MutableMapping[TopicPartition, CommittedOffset]] = {}

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """Committed offsets of a group, in the order of the first commits."""
        return self._groups.get(group_id, {})

    def commit(self, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        table = self._groups.get(group_id)
        if table is None:
            table = self._groups[group_id] = self._store.table(_TABLE, group_id)
        table[partition] = committed

    def delete(self, group_id: str, partition: TopicPartition) -> None:
        """Delete one committed offset. Does nothing if there is none."""
        if partition in self.of_group(group_id):
            del self._groups[group_id][partition]

    def delete_group(self, group_id: str) -> None:
        """Delete all committed offsets of a group."""
        if self._groups.pop(group_id, None) is not None:
            self._store.delete_table(_TABLE, group_id)

    def delete_topic(self, topic: str) -> None:
        """Delete the offsets that any group has committed for a topic."""
        for group_id in self._groups:
            self._delete_where(group_id, lambda partition, _: partition.topic == topic)

    def expire(self, group_id: str, is_expired: Callable[[TopicPartition, CommittedOffset], bool]) -> None:
        """Delete the expired committed offsets of a group."""
        self._delete_where(group_id, is_expired)

    def _delete_where(self, group_id: str, chosen: Callable[[TopicPartition, CommittedOffset], bool]) -> None:
        for partition in [
            partition for partition, committed in self.of_group(group_id).items() if chosen(partition, committed)
        ]:
            del self._groups[group_id][partition]

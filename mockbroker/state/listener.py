"""Listeners to changes of the cluster's state: how groups and fetch sessions hear of brokers, topics and leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.state.topics import Partition, Topic

__all__ = ["ClusterListener"]


class ClusterListener:
    """Base class of listeners; each overrides the events that it needs. Called right after the change, within it."""

    def broker_stopped(self, broker_id: int) -> None:
        """A broker went offline, for good or not."""

    def leader_changed(self, partition: Partition) -> None:
        """A partition has another leader, or none."""

    def topic_deleted(self, topic: Topic) -> None:
        """A topic was deleted with its records."""

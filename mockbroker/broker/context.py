"""Context of a handler: one request with all that the handler may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.errors import ErrorCode
from mockbroker.broker.observers import InjectedError

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestHeader
    from mockbroker.broker.client import Client
    from mockbroker.broker.services import ClusterServices
    from mockbroker.broker.sessions import FetchSessionCache
    from mockbroker.groups.groups import Groups
    from mockbroker.state.brokers import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics import Partition, Topic

__all__ = ["RequestContext"]


@dataclass(slots=True)
class RequestContext:
    """Request being served: its broker, its client, its header, and the services that the brokers share."""

    services: ClusterServices
    broker: Broker
    client: Client
    header: RequestHeader
    all_injected: Sequence[InjectedError] = ()
    """Errors that faults want in the response, in the order of the faults."""

    @property
    def cluster(self) -> Cluster:
        return self.services.cluster

    @property
    def groups(self) -> Groups:
        return self.services.groups

    @property
    def sessions(self) -> FetchSessionCache:
        """Fetch sessions of this broker."""
        return self.services.sessions[self.broker.id]

    @property
    def injected(self) -> InjectedError | None:
        """Injected error for APIs that have room for one only."""
        return self.all_injected[0] if self.all_injected else None

    @property
    def version(self) -> int:
        return self.header.api_version

    def injected_error(self, topic: str, partition: int | None = None) -> ErrorCode | None:
        """Error that a fault wants for this topic or partition."""
        if not self.all_injected:
            return None
        return next((injected.error for injected in self.all_injected if injected.covers(topic, partition)), None)

    def led_partition(
        self, topic: Topic, index: int, leader_epoch: int = -1, *, or_followed: bool = False
    ) -> Partition | ErrorCode:
        """Return `Cluster.led_partition` for this broker, unless a fault wants an error."""
        found = self.cluster.led_partition(self.broker, topic, index, leader_epoch, or_followed=or_followed)
        error = self.injected_error(topic.name, index)
        return found if error is None or found is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error

    def group_error(self, group_id: str) -> ErrorCode | None:
        """Error of a broker that does not answer for a group: a fault wants it, or another broker is the coordinator."""
        if self.injected is not None:
            return self.injected.error
        return None if self.cluster.coordinator(group_id) is self.broker else ErrorCode.NOT_COORDINATOR

    def controller_error(self) -> ErrorCode | None:
        """NOT_CONTROLLER if only the controller takes admin requests, as before KRaft, and this broker is another."""
        if self.cluster.profile.kraft or self.broker is self.cluster.brokers.controller:
            return None
        return ErrorCode.NOT_CONTROLLER

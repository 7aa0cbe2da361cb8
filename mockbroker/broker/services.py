"""Services that the brokers of a cluster share: cluster state, group coordinator, fetch sessions, observers."""

from __future__ import annotations

from mockbroker.broker.observers import Observers
from mockbroker.broker.sessions import FetchSessionCaches
from mockbroker.groups.groups import Groups
from mockbroker.state.cluster import Cluster

__all__ = ["ClusterServices"]


class ClusterServices:
    """Services that connections serve requests with. A driver makes one for its cluster and gives it to all connections."""

    def __init__(self, cluster: Cluster, observers: Observers) -> None:
        self.cluster = cluster
        self.observers = observers
        self.groups = Groups(cluster)
        self.sessions = FetchSessionCaches(cluster)

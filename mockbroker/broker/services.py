"""Services that the brokers of a cluster share: cluster state, group coordinator, fetch sessions, observers."""

from __future__ import annotations

from itertools import count

from mockbroker.broker.observers import Observers
from mockbroker.broker.sessions import FetchSessions
from mockbroker.groups.groups import Groups
from mockbroker.state.cluster import Cluster
from mockbroker.state.listener import ClusterListener

__all__ = ["ClusterServices"]


class ClusterServices(ClusterListener):
    """Services that connections serve requests with. A driver makes one for its cluster and gives it to all connections."""

    def __init__(self, cluster: Cluster, observers: Observers) -> None:
        self.cluster = cluster
        self.observers = observers
        self.groups = Groups(cluster)
        self._sessions: dict[int, FetchSessions] = {}
        self._session_ids = count(1)
        cluster.listeners.append(self)

    def sessions(self, broker_id: int) -> FetchSessions:
        """Fetch sessions of one broker."""
        found = self._sessions.get(broker_id)
        if found is None:
            slots = int(self.cluster.config.get("max.incremental.fetch.session.cache.slots", 0))
            found = self._sessions[broker_id] = FetchSessions(slots, self._session_ids)
        return found

    def broker_stopped(self, broker_id: int) -> None:
        self.sessions(broker_id).clear()

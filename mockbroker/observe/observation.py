"""Observers of one cluster together: its faults and its journal."""

from __future__ import annotations

from mockbroker.observe.driver import ClusterDriver
from mockbroker.observe.faults import Faults
from mockbroker.observe.journal import Journal
from mockbroker.observe.selection import Topics

__all__ = ["Observation"]


class Observation:
    """Faults and journal of a cluster, for its connections and for tests.

    topics: the cluster, which tells topics by name and id. driver: runs the cluster.
    """

    def __init__(self, topics: Topics, driver: ClusterDriver) -> None:
        self.faults = Faults(topics, driver)
        self.journal = Journal(topics, driver)

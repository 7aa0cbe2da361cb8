"""Observers of a cluster's connections together: its faults and its journal."""

from __future__ import annotations

from mockbroker.observe.faults import Faults
from mockbroker.observe.journal import Journal
from mockbroker.observe.selection import Topics

__all__ = ["Observation"]


class Observation:
    """Faults and journal of one cluster, to be given to its connections.

    topics: the cluster, which tells topics by name and id.
    """

    def __init__(self, topics: Topics) -> None:
        self.faults = Faults(topics)
        self.journal = Journal(topics)

"""A Kafka cluster in one process, to test Kafka clients against.

`MockCluster` runs it over TCP; `MemoryServer` runs the same brokers, a `Cluster`, without sockets, threads or clock.
Names load on first use, because pytest imports this package in every test run (the fixture `mock_kafka`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.clock import MockClock
    from mockbroker.cluster import Cluster
    from mockbroker.connection import ServerConnection
    from mockbroker.exchange import Exchange
    from mockbroker.faults import Barrier, Fault
    from mockbroker.journal import Journal
    from mockbroker.memory import MemoryServer
    from mockbroker.mock import MockBroker, MockCluster

__all__ = [
    "Barrier",
    "Cluster",
    "Exchange",
    "Fault",
    "Journal",
    "MemoryServer",
    "MockBroker",
    "MockClock",
    "MockCluster",
    "ServerConnection",
]

_HOMES = {
    "Barrier": "faults",
    "Cluster": "cluster",
    "Exchange": "exchange",
    "Fault": "faults",
    "Journal": "journal",
    "MemoryServer": "memory",
    "MockBroker": "mock",
    "MockClock": "clock",
    "MockCluster": "mock",
    "ServerConnection": "connection",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mockbroker' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"mockbroker.{home}"), name)

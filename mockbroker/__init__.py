"""Kafka cluster in one process, to test Kafka clients against.

`MockCluster` runs it over TCP; `MemoryServer` runs the brokers of a `Cluster` without sockets, threads or clock.
Names load on first use, because pytest imports this package in every test run (the fixture `mock_kafka`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.broker.connection import ServerConnection
    from mockbroker.broker.exchange import Exchange
    from mockbroker.drive.clock import MockClock
    from mockbroker.drive.memory import MemoryServer
    from mockbroker.mock import MockBroker, MockCluster
    from mockbroker.observe.fault import Fault
    from mockbroker.observe.fault_kinds import Barrier
    from mockbroker.observe.journal import Journal
    from mockbroker.state.cluster import Cluster

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
    "Barrier": "observe.fault_kinds",
    "Cluster": "state.cluster",
    "Exchange": "broker.exchange",
    "Fault": "observe.fault",
    "Journal": "observe.journal",
    "MemoryServer": "drive.memory",
    "MockBroker": "mock",
    "MockClock": "drive.clock",
    "MockCluster": "mock",
    "ServerConnection": "broker.connection",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mockbroker' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"mockbroker.{home}"), name)

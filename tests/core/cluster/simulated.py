"""A client of a simulated cluster: virtual time, no sockets."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafkawire.config import ConnectionOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.list_offsets import LATEST, list_offsets
from kafkawire.core.cluster.targets import Leader
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_groups import ListGroupsRequest
from mockbroker import Cluster, MemoryServer
from tests.sim.driver import SimNet

__all__ = ["CODES", "LONG", "SHORT", "Simulated", "ask"]

CODES = [code for code in ErrorCode if code is not ErrorCode.NONE]
LONG, SHORT = 60.0, 2.0
"""Seconds for calls that have time for retries, and for calls that meet their deadline."""

T = TypeVar("T")


class Simulated:
    """A cluster of some brokers with a topic "t", and a client that has not connected yet."""

    def __init__(self, brokers: int = 3, partitions: int = 6, *, version: str | None = None, **options: Any) -> None:
        random.seed(1)
        self.net = SimNet(1)
        self.cluster = Cluster(brokers) if version is None else Cluster(brokers, version=version)
        self.cluster.create_topic("t", partitions, 1)
        self.server = MemoryServer(self.cluster, self.net)
        self.faults = self.server.faults
        self.journal = self.server.journal
        self.net.serve(self.server)
        self.client = ClusterClient(
            self.net, resolve(ConnectionOptions, {"bootstrap_servers": self.server.bootstrap, **options})
        )

    def run(self, flow: Callable[[], Awaitable[T]]) -> T:
        """Run a flow to its end, and close the client."""

        async def main() -> T:
            try:
                return await flow()
            finally:
                self.client.close()

        return self.net.run(main(), leave_flows=True)

    def brokers_asked(self, api: str) -> list[int]:
        """The brokers that requests of an API came to, in order, since the journal was cleared."""
        return [exchange.broker for exchange in self.journal.requests(api)]


async def ask(rig, to, seconds=LONG):
    """Send one request whose answer has one error code: of the partition for a leader, at the top level for others."""
    deadline = rig.net.now() + seconds
    if isinstance(to, Leader):
        return await list_offsets(rig.client, {to.partition: LATEST}, deadline)
    return await rig.client.router.call(ListGroupsRequest(), to, deadline)

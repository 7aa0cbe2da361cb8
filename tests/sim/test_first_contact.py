"""First contact: the version that a client takes unknown brokers for."""

from __future__ import annotations

import pytest

from kafkawire.config import ConnectionOptions, resolve
from kafkawire.core.cluster.connector import Connector
from kafkawire.core.cluster.metadata import Address
from kafkawire.errors import ConnectionLost
from kafkawire.net.base import NEVER, join
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from mockbroker import Cluster, MemoryServer
from tests.sim.driver import SimNet


def test_no_broker_is_old_once_another_of_its_cluster_has_shown_to_be_newer():
    """One that hangs up on ApiVersions and serves what old ones serve looks like them; but the other answers meanwhile."""
    net, cluster = SimNet(1), Cluster(2, version="2.8")
    server = MemoryServer(cluster, net)
    net.serve(server)
    server.faults.disconnect("ApiVersions", broker=1, times=4)
    server.faults.delay("ListOffsets", 1.0, broker=1)

    async def main():
        connector = Connector(net, resolve(ConnectionOptions, {}))
        one, other = (Address(f"broker-{number}", 9092) for number in (1, 2))
        ended = net.signal()
        doubtful = net.spawn(connector.open(one, lambda _: None), ended)
        await connector.open(other, lambda _: None)
        assert await join(net, doubtful, ended, NEVER)
        assert isinstance(doubtful.error, ConnectionLost)
        again = await connector.open(one, lambda _: None)
        assert again.version(ListOffsetsRequest) > 1

    net.run(main(), leave_flows=True)


@pytest.mark.parametrize("version", ["0.8.2", "0.9.0"])
def test_a_broker_that_is_old_is_taken_for_one(version):
    net, cluster = SimNet(1), Cluster(1, version=version)
    net.serve(MemoryServer(cluster, net))

    async def main():
        connector = Connector(net, resolve(ConnectionOptions, {}))
        return (await connector.open(Address("broker-1", 9092), lambda _: None)).version(ListOffsetsRequest)

    assert net.run(main(), leave_flows=True) == 0

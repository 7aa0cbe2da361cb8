"""Connections that nothing has used for minutes."""

from __future__ import annotations

import random

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ConnectionOptions, ProducerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.net.base import sleep
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import Cluster, MemoryServer
from tests.sim.driver import SimNet


def test_trap_14_idle_connections_are_replaced_before_brokers_close_them():
    net, cluster = SimNet(1), Cluster(1)
    server = MemoryServer(cluster, net)
    net.serve(server)
    random.seed(1)

    async def main():
        client = ClusterClient(net, resolve(ConnectionOptions, {"bootstrap_servers": server.bootstrap}))
        for pause in (0, 500, 500, 541, 500):
            await sleep(net, pause)
            await client.request(MetadataRequest(topics=[]), 1, net.now() + 60)
        client.close()

    net.run(main())
    used = [e.client.connection for e in server.journal.requests("Metadata")][-5:]
    assert used[0] == used[1] == used[2] != used[3] == used[4]


def test_trap_14_idle_connections_of_producers_are_replaced_too():
    net, cluster = SimNet(1), Cluster(1)
    cluster.create_topic("t", 1)
    server = MemoryServer(cluster, net)
    net.serve(server)
    random.seed(1)
    options = resolve(ProducerOptions, {"bootstrap_servers": server.bootstrap})

    async def main():
        client = ClusterClient(net, options)
        producer = ProducerCore(client, options, DeliveryBase)
        for pause in (0, 500, 500, 541, 500):
            await sleep(net, pause)
            await producer.send("t", b"v", None, 0, None, None, None)
            await producer.flush(net.now() + 60)
        await producer.lifecycle.close(net.now() + 60)
        client.close()

    net.run(main())
    used = [e.client.connection for e in server.journal.requests("Produce")]
    assert used[0] == used[1] == used[2] != used[3] == used[4]

"""A broker that takes connections and lets fetches wait for ever, while another one leads its partitions."""

from __future__ import annotations

import random

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from mockbroker import Cluster, MemoryServer
from mockbroker.data import Record, append_records
from tests.sim.driver import SimNet

TOPIC = "t"
A_FETCH = 5.5
"""Seconds after which a fetch is taken to be lost."""


def test_a_fetch_that_is_lost_has_the_new_leader_found():
    random.seed(1)
    net, cluster = SimNet(1), Cluster(2)
    cluster.create_topic(TOPIC, 1, 2)
    server = MemoryServer(cluster, net)
    net.serve(server)
    options = resolve(
        ConsumerOptions,
        {"bootstrap_servers": server.bootstrap, "auto_offset_reset": "earliest", "request_timeout_ms": 5_000},
    )

    async def main():
        client = ClusterClient(net, options)
        consumer = ConsumerCore(client, options, [TOPIC])
        for leader in (1, 2, 1, 2):
            server.faults.clear()
            server.faults.drop("Fetch", broker=3 - leader)
            cluster.move_leader(TOPIC, 0, leader)
            append_records(cluster, TOPIC, 0, [Record(TOPIC, b"%d" % leader)], net.now())
            began = net.now()
            found = await consumer.poll(began + 60, lambda until: consumer.collector.take(1, until))
            assert [message.value for message in found] == [b"%d" % leader]
            assert net.now() - began < 2 * A_FETCH
        consumer.close()
        client.close()

    net.run(main())

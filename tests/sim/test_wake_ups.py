"""Answers that arrive at the very moment at which a consumer is about to wait for them."""

from __future__ import annotations

import random

import pytest

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.net.base import sleep
from mockbroker import Cluster, MemoryServer
from mockbroker.data import Record, append_records
from tests.sim.driver import SimNet

TOPIC = "t"
RECORDS = 100
WAIT = 60.0
"""Seconds for which a fetch waits: nothing but the record itself brings an answer in time."""


@pytest.mark.parametrize("seed", range(5))
def test_a_record_wakes_who_waits_for_it(seed):
    random.seed(seed)
    net, cluster = SimNet(seed), Cluster(1)
    cluster.create_topic(TOPIC, 1)
    server = MemoryServer(cluster, net)
    net.serve(server)
    net.intrude([net.hurry], 0.5)
    options = resolve(
        ConsumerOptions,
        {"bootstrap_servers": server.bootstrap, "auto_offset_reset": "earliest", "fetch_max_wait_ms": int(WAIT * 1000)},
    )

    async def produce() -> None:
        for _ in range(RECORDS):
            await sleep(net, net.rng.random() * 0.05)
            append_records(cluster, TOPIC, 0, [Record(TOPIC, b"%f" % net.now())], net.now())

    async def main() -> None:
        client = ClusterClient(net, options)
        consumer = ConsumerCore(client, options, [TOPIC])
        assert await consumer.poll(net.now() + 1.0, lambda until: consumer.collector.take(1, until)) == []
        net.spawn(produce())
        for _ in range(RECORDS):
            (message,) = await consumer.poll(net.now() + WAIT, lambda until: consumer.collector.take(1, until))
            assert net.now() - float(message.value or b"") < 1.0
        consumer.close()
        client.close()

    net.run(main(), leave_flows=True)

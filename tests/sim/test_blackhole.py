"""Brokers that take in everything and answer nothing, and answers that ask for absurd pauses: how soon things go on."""

from __future__ import annotations

import random

import pytest

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ConsumerOptions, ProducerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.net.base import sleep
from mockbroker import Cluster, MemoryServer
from tests.sim.driver import EPOCH, SimNet

TOPIC = "t"
ABSURD_MS = 2**31 - 1


class Scene:
    def __init__(self, seed: int) -> None:
        random.seed(seed)
        self.net = SimNet(seed)
        self.cluster = Cluster(3, version="3.5", wall_clock_offset=EPOCH)
        self.cluster.create_topic(TOPIC, 3, 1)
        self.server = MemoryServer(self.cluster, self.net)
        self.net.serve(self.server)
        self.bootstrap = self.server.bootstrap

    def producer(self, **options) -> tuple[ClusterClient, ProducerCore]:
        given = {"bootstrap_servers": self.bootstrap, "delivery_timeout_ms": 86_400_000, "max_block_ms": 86_400_000}
        resolved = resolve(ProducerOptions, {**given, **options})
        client = ClusterClient(self.net, resolved)
        return client, ProducerCore(client, resolved, DeliveryBase)

    def cut_links(self) -> None:
        for broker in self.cluster.brokers.values():
            self.net.cut_links(broker.host)

    def fall_silent(self) -> float:
        """Lose all connections, and let those that are made in the next ten seconds be silent for good; when that is over."""
        self.cut_links()
        end = self.net.now() + 10
        self.net.at(end, self.server.faults.drop(None).clear)
        return end

    async def send(self, producer: ProducerCore) -> None:
        """A record for each partition, acknowledged."""
        for partition in range(3):
            await producer.send(TOPIC, b"v", None, partition, None, None, None)
        await producer.flush(self.net.now() + 86_400)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("known", [True, False], ids=["used before", "first seen in it"])
def test_a_blackhole_is_over_when_it_ends(seed, known):
    """All connections are lost in it, and those made in it stay silent for good.

    Brokers of Kafka 3 would answer the questions of an old one, and get records in a format that they have to convert.
    """
    scene = Scene(seed)

    async def main() -> None:
        client, producer = scene.producer()
        if known:
            await scene.send(producer)
        end = scene.fall_silent()
        await scene.send(producer)
        assert scene.net.now() - end < 6
        await producer.lifecycle.close(scene.net.now() + 60)
        client.close()

    scene.net.run(main())
    assert {exchange.version for exchange in scene.server.journal.requests("Produce")} == {9}
    if known:
        assert not scene.server.journal.requests("ListOffsets")


def test_a_blackhole_does_not_keep_a_consumer():
    scene = Scene(1)
    options = resolve(ConsumerOptions, {"bootstrap_servers": scene.bootstrap, "auto_offset_reset": "earliest"})

    async def read(consumer: ConsumerCore) -> None:
        found = 0
        while found < 3:
            found += len(await consumer.poll(scene.net.now() + 60, lambda until: consumer.collector.take(10, until)))

    async def main() -> None:
        producing, producer = scene.producer()
        client = ClusterClient(scene.net, options)
        consumer = ConsumerCore(client, options, [TOPIC])
        await scene.send(producer)
        await read(consumer)
        await scene.send(producer)
        await producer.lifecycle.close(scene.net.now() + 60)
        producing.close()
        end = scene.fall_silent()
        await read(consumer)
        assert scene.net.now() - end < 6
        consumer.close()
        client.close()

    scene.net.run(main())


def test_a_broker_that_answered_is_never_taken_for_an_old_one():
    scene = Scene(1)

    async def main() -> None:
        client, producer = scene.producer()
        await scene.send(producer)
        for _ in range(10):
            fault = scene.server.faults.drop("ApiVersions")
            scene.cut_links()
            await sleep(scene.net, 5)
            fault.clear()
            await scene.send(producer)
        await producer.lifecycle.close(scene.net.now() + 60)
        client.close()

    scene.net.run(main())
    assert not scene.server.journal.requests("ListOffsets")


@pytest.mark.parametrize("api", ["Produce", "Metadata", "InitProducerId"])
def test_throttle_times_are_bounded(api):
    scene = Scene(1)
    scene.server.faults.throttle(api, ABSURD_MS)

    async def main() -> None:
        client, producer = scene.producer()
        for _ in range(3):
            await scene.send(producer)
        assert scene.net.now() < 600
        await producer.lifecycle.close(scene.net.now() + 60)
        client.close()

    scene.net.run(main())


def test_throttle_times_of_fetches_are_bounded():
    scene = Scene(1)
    options = resolve(ConsumerOptions, {"bootstrap_servers": scene.bootstrap, "auto_offset_reset": "earliest"})
    scene.server.faults.throttle("Fetch", ABSURD_MS)

    async def main() -> None:
        producing, producer = scene.producer()
        client = ClusterClient(scene.net, options)
        consumer = ConsumerCore(client, options, [TOPIC])
        for rounds in range(1, 4):
            await scene.send(producer)
            found = 0
            while found < 3:
                found += len(await consumer.poll(scene.net.now() + 60, lambda until: consumer.collector.take(10, until)))
            assert scene.net.now() < rounds * 200
        await producer.lifecycle.close(scene.net.now() + 60)
        for each in (consumer, producing, client):
            each.close()

    scene.net.run(main())

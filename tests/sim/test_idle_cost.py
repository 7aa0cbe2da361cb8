"""The cost of waiting: however long a cluster is disturbed, clients make a few attempts a second and no more."""

from __future__ import annotations

import random

import pytest

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ConsumerOptions, ProducerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.errors import ErrorCode, KafkaError
from kafkawire.net.base import NEVER, sleep
from mockbroker import Cluster, MemoryServer
from tests.sim.driver import EPOCH, SimNet

TOPIC = "t"
SETTLED = 30
"""Virtual seconds after which every pause has grown to its longest."""
WATCHED = 60
MOST_WAITS = 30
"""Waits of all flows of a client in a virtual second: pauses are a second long by then, and three brokers are tried for two
purposes."""


class Scene:
    """One cluster of three brokers, whose topic has a partition on each, and what befalls it."""

    def __init__(self, seed: int) -> None:
        random.seed(seed)
        self.net = SimNet(seed)
        self.cluster = Cluster(3, wall_clock_offset=EPOCH)
        self.cluster.create_topic(TOPIC, 3, 1)
        server = MemoryServer(self.cluster, self.net)
        self.net.serve(server)
        self.bootstrap = server.bootstrap
        self.hosts = [broker.host for broker in self.cluster.brokers.values()]
        self.faults = server.faults
        self.led = self.cluster.partition(TOPIC, 0).leader

    def leader_refuses(self) -> None:
        self._refuse(f"broker-{self.led}")

    def all_refuse(self) -> None:
        for host in self.hosts:
            self._refuse(host)

    def _refuse(self, host: str) -> None:
        self.net.hosts.take_down(host)
        self.net.cut_links(host)

    def leader_is_silent(self) -> None:
        self.faults.drop(None, broker=self.led)

    def all_are_silent(self) -> None:
        self.faults.drop(None)

    def leader_is_out_of_reach(self) -> None:
        self.net.hosts.darken(f"broker-{self.led}", NEVER)

    def all_are_out_of_reach(self) -> None:
        for host in self.hosts:
            self.net.hosts.darken(host, NEVER)

    def leader_is_gone(self) -> None:
        self.cluster.move_leader(TOPIC, 0, -1)

    def leader_throttles(self) -> None:
        self.faults.throttle(("Produce", "Fetch"), 50_000)

    def topic_is_deleted(self) -> None:
        self.cluster.delete_topic(TOPIC)

    def no_producer_ids(self) -> None:
        self.faults.fail("InitProducerId", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def leader_knows_nothing(self) -> None:
        self.faults.fail(("Produce", "Fetch"), ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def connections_are_cut(self) -> None:
        self.faults.disconnect(("Produce", "Fetch"))

    def answers_are_damaged(self) -> None:
        self.faults.mismatch(("Produce", "Fetch"))

    def nothing_happens(self) -> None:
        pass

    async def watch(self) -> float:
        """Waits per second, once all has settled."""
        await sleep(self.net, SETTLED)
        before = self.net.waits()
        await sleep(self.net, WATCHED)
        return (self.net.waits() - before) / WATCHED


SCENES = [
    "nothing_happens",
    "leader_refuses",
    "all_refuse",
    "leader_is_silent",
    "all_are_silent",
    "leader_is_out_of_reach",
    "all_are_out_of_reach",
    "leader_is_gone",
    "leader_throttles",
    "topic_is_deleted",
    "leader_knows_nothing",
    "connections_are_cut",
    "answers_are_damaged",
]


@pytest.mark.parametrize("known", [False, True], ids=["before the first record", "while sending"])
@pytest.mark.parametrize("what", [*SCENES, "no_producer_ids"])
def test_producers(what, known):
    scene = Scene(1)
    given = {
        "bootstrap_servers": scene.bootstrap,
        "delivery_timeout_ms": 86_400_000,
        "max_block_ms": 86_400_000,
    }
    options = resolve(ProducerOptions, given)

    async def main() -> float:
        client = ClusterClient(scene.net, options)
        producer = ProducerCore(client, options, DeliveryBase)
        if known:
            await producer.send(TOPIC, b"0", None, 0, None, None, None)
            await producer.flush(scene.net.now() + 60)

        async def send() -> None:
            for partition in range(3):
                await producer.send(TOPIC, b"v", None, partition, None, None, None)

        getattr(scene, what)()
        scene.net.spawn(send())
        rate = await scene.watch()
        await producer.lifecycle.close(scene.net.now())
        client.close()
        return rate

    assert scene.net.run(main(), leave_flows=True) < MOST_WAITS


@pytest.mark.parametrize("known", [False, True], ids=["before the first record", "while reading"])
@pytest.mark.parametrize("what", SCENES)
def test_consumers(what, known):
    scene = Scene(1)
    options = resolve(ConsumerOptions, {"bootstrap_servers": scene.bootstrap, "auto_offset_reset": "earliest"})

    async def poll(consumer: ConsumerCore) -> None:
        while True:
            try:
                await consumer.poll(scene.net.now() + 3600, lambda until: consumer.collector.take(100, until))
            except KafkaError:
                await sleep(scene.net, 10)

    async def main() -> float:
        client = ClusterClient(scene.net, options)
        consumer = ConsumerCore(client, options, [TOPIC])
        if known:
            await consumer.poll(scene.net.now() + 5, lambda until: consumer.collector.take(100, until))
        getattr(scene, what)()
        scene.net.spawn(poll(consumer))
        rate = await scene.watch()
        client.close()
        return rate

    assert scene.net.run(main(), leave_flows=True) < MOST_WAITS

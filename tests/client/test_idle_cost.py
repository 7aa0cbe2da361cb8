"""The cost of brokers that are down: a few attempts a second, and none for the others. More states are in tests/sim."""

from __future__ import annotations

import time

import pytest

from kafkawire.net.base import NEVER
from mockbroker import MockCluster
from tests.client.faces import SOON
from tests.client.gate import gates

QUICK = {"reconnect_backoff_ms": 20, "reconnect_backoff_max_ms": 20, "retry_backoff_ms": 20, "retry_backoff_max_ms": 20}


class Effort:
    """Counts what flows do on a driver: their waits, those too that end at once, and the connections they try."""

    def __init__(self, net) -> None:
        self.waits = 0
        self.connects = 0
        self._net_wait, self._net_connect = net.wait, net.connect
        net.wait, net.connect = self._wait, self._connect

    async def _wait(self, signal, deadline=NEVER):
        self.waits += 1
        return await self._net_wait(signal, deadline)

    async def _connect(self, *arguments):
        self.connects += 1
        return await self._net_connect(*arguments)

    def watch(self, connects: int) -> int:
        """Waits until so many more connections were tried."""
        waits, end, deadline = self.waits, self.connects + connects, time.monotonic() + SOON
        while self.connects < end:
            assert time.monotonic() < deadline, "connecting was given up"
            time.sleep(0.005)
        return self.waits - waits


@pytest.fixture
def kafka():
    with MockCluster(topics={"t": 3}) as cluster:
        yield cluster


@pytest.fixture
def doors(kafka):
    with gates(kafka) as found:
        yield found


@pytest.fixture
def connection(face, doors):
    servers = [gate.address for gate in doors.values()]
    with face.Connection(servers, **QUICK) as made:
        yield made


def led_by(kafka, broker: int) -> int:
    return next(partition for partition in range(3) if kafka.leader("t", partition) == broker)


def test_a_producer_whose_leader_is_down(face, kafka, doors, connection):
    dead, alive = led_by(kafka, 1), led_by(kafka, 2)
    with face.Producer(connection=connection) as p:
        for partition in (dead, alive):
            p.send("t", b"before", partition=partition).result(timeout=SOON)
        barrier = kafka.hold("Produce", broker=1)
        waiting = [p.send("t", b"%d" % i, partition=dead) for i in range(3)]
        barrier.wait_for(1)
        doors[1].close()
        effort = Effort(connection.net)
        assert effort.watch(connects=20) < 20 * 20
        waits = effort.waits
        for i in range(50):
            p.send("t", b"%d" % i, partition=alive).result(timeout=SOON)
        assert effort.waits - waits < 50 * 20 + 20 * effort.connects
        assert not any(delivery.done() for delivery in waiting)
        barrier.clear()
        doors[1].open()
        for delivery in waiting:
            delivery.result(timeout=SOON)


def test_a_producer_all_of_whose_brokers_are_down(face, kafka, doors, connection):
    with face.Producer(connection=connection) as p:
        p.send("t", b"before", partition=0).result(timeout=SOON)
        for gate in doors.values():
            gate.close()
        waiting = [p.send("t", b"v", partition=partition) for partition in range(3)]
        effort = Effort(connection.net)
        assert effort.watch(connects=60) < 60 * 20
        for gate in doors.values():
            gate.open()
        for delivery in waiting:
            delivery.result(timeout=SOON)


def test_a_consumer_whose_leader_is_down(face, kafka, doors, connection):
    dead, alive = led_by(kafka, 1), led_by(kafka, 2)
    with face.Consumer("t", connection=connection, auto_offset_reset="earliest") as c:
        for partition in (dead, alive):
            kafka.produce("t", "before", partition=partition)
        found = 0
        while found < 2:
            found += len(c.poll(timeout=SOON))
        doors[1].close()
        effort = Effort(connection.net)
        for i in range(50):
            kafka.produce("t", f"{i}", partition=alive)
            while not c.poll(timeout=SOON):
                pass
        assert effort.waits < 50 * 20 + 20 * effort.connects
        kafka.produce("t", "after", partition=dead)
        doors[1].open()
        while not (after := c.poll(timeout=SOON)):
            pass
        assert [m.value for m in after] == [b"after"]

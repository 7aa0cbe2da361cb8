"""Brokers that fall silent, and brokers that ask for pauses. How long it takes is asserted in tests/sim."""

from __future__ import annotations

import logging
import time

import pytest

from kafkawire.core.cluster.backoff import Seldom
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.metadata import Address
from kafkawire.errors import TimedOut
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.produce import ProduceRequest, ProduceResponse
from mockbroker import MockCluster
from tests.client.faces import SOON
from tests.client.gate import gates
from tests.sim.driver import SimNet
from tests.sim.links import Link

QUICK = {
    "api_version_auto_timeout_ms": 50,
    "reconnect_backoff_ms": 10,
    "reconnect_backoff_max_ms": 20,
    "retry_backoff_ms": 10,
    "retry_backoff_max_ms": 20,
}


@pytest.fixture
def kafka():
    with MockCluster(brokers=1, topics={"t": 1}, version="3.5") as cluster:
        yield cluster


@pytest.fixture
def gate(kafka):
    with gates(kafka) as found:
        yield found[1]


def test_a_blackhole(face, kafka, gate):
    """Connections made in it stay silent for good. The broker would answer the questions of an old one, and is asked none."""
    with (
        face.Producer(bootstrap_servers=gate.address, **QUICK) as p,
        face.Consumer("t", bootstrap_servers=gate.address, auto_offset_reset="earliest", **QUICK) as c,
    ):
        p.send("t", b"before").result(timeout=SOON)
        while not c.poll(timeout=SOON):
            pass
        gate.silence()
        gate.cut()
        waiting = p.send("t", b"after")
        deadline, seen = time.monotonic() + SOON, gate.connections
        while gate.connections < seen + 20:
            assert time.monotonic() < deadline, "connecting was given up"
            c.poll(timeout=0.02)
        gate.speak()
        waiting.result(timeout=SOON)
        while not (found := c.poll(timeout=SOON)):
            pass
        assert [m.value for m in found] == [b"after"]
    assert {exchange.version for exchange in kafka.journal.requests("Produce")} == {9}
    assert not [e for e in kafka.journal.requests("ListOffsets") if e.version == 0]


def test_throttling_is_told_once(face, kafka, caplog):
    kafka.throttle(("Produce", "Fetch", "Metadata"), 5)
    with caplog.at_level(logging.WARNING, "kafkawire"), face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for _ in range(10):
            p.send("t", b"v").result(timeout=SOON)
        with face.Consumer("t", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
            while not c.poll(timeout=SOON):
                pass
    said = [record.getMessage() for record in caplog.records if "throttles" in record.getMessage()]
    for api in ("Produce", "Fetch"):
        assert len([line for line in said if f"{kafka.bootstrap} throttles this client by 0.005 s after {api}" in line]) == 1
    assert len(said) <= 4


def test_who_has_no_time_for_a_pause_is_told_of_it(face, kafka):
    question = MetadataRequest(topics=[])
    with face.Connection(kafka.bootstrap) as connection:
        connection.refresh(timeout=SOON)
        kafka.throttle("Metadata", 30_000)
        connection.request(question, broker=1, timeout=SOON)
        with pytest.raises(TimedOut, match=f"{kafka.bootstrap} throttles this client"):
            connection.request(question, broker=1, timeout=0.05)


@pytest.mark.parametrize(("asked_ms", "pause"), [(-5, 0), (-(2**31), 0), (0, 0), (1500, 1.5), (2**31 - 1, 60)])
def test_pauses_have_bounds(asked_ms, pause):
    net = SimNet(1)
    link = BrokerLink(net, Link(net, 1, "broker"), Address("broker", 9092), {}, "me", 30.0, Seldom(60))
    link.note_throttle(ProduceResponse(throttle_time_ms=asked_ms), ProduceRequest, 9, net.now())
    assert link.muted_until == pause

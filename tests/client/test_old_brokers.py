"""Producing and consuming with brokers of every era."""

from __future__ import annotations

import pytest

from kafkawire.errors import KafkaError, UnsupportedVersionError
from mockbroker import MockCluster
from mockbroker.profiles import profile
from tests.client.faces import SOON

VERSIONS = ["0.8.2", "0.9", "0.10.0", "0.10.2", "0.11", "2.0", "2.8", "3.5", "4.0"]
QUICK = {"api_version_auto_timeout_ms": 100}


@pytest.fixture(params=VERSIONS)
def era(request):
    with MockCluster(topics={"t": 2}, version=request.param) as cluster:
        yield request.param, cluster


def test_produce_and_consume(face, era):
    _, kafka = era
    values = [b"%d" % i for i in range(200)]
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        single = p.send("t", b"single", b"key", partition=0).result(timeout=SOON)
        assert (single.partition, single.offset) == (0, 0)
        many = p.send_many("t", values, partition=1)
        assert [m.offset for m in many.result(timeout=SOON)] == list(range(200))
    with face.Consumer("t", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True, **QUICK) as c:
        found = list(c)
        assert c.end_offsets([("t", 0), ("t", 1)]) == {("t", 0): 1, ("t", 1): 200}
    assert [(m.key, m.value) for m in found if m.partition == 0] == [(b"key", b"single")]
    assert [m.value for m in found if m.partition == 1] == values


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_codecs(face, era, codec):
    _, kafka = era
    values = [b"%d-" % i * 30 for i in range(200)]
    with face.Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec, **QUICK) as p:
        p.send_many("t", values, partition=0).result(timeout=SOON)
    with face.Consumer("t", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True, **QUICK) as c:
        assert [m.value for m in c] == values


def test_what_they_cannot_do_is_said(face, era):
    version, kafka = era
    modern = version not in ("0.8.2", "0.9", "0.10.0", "0.10.2")
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        error = p.send("t", b"v", partition=0, headers=[("h", b"")]).exception(timeout=SOON)
        assert (error is None) is modern
        assert modern or isinstance(error, UnsupportedVersionError)
        assert p.send("t", b"v", partition=0).exception(timeout=SOON) is None
    with face.Producer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True, **QUICK) as p:
        error = p.send("t", b"v", partition=0).exception(timeout=SOON)
        assert (error is None) is modern
        assert modern or isinstance(error, KafkaError)


def test_trap_41_the_next_message_is_larger_than_the_limit(face, era):
    """Before 0.10.1 a broker sends part of it, and nothing else for ever."""
    version, kafka = era
    kafka.produce("t", bytes(10_000), partition=0)
    with face.Consumer(
        "t", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", max_partition_fetch_bytes=1000, **QUICK
    ) as c:
        if version in ("0.8.2", "0.9", "0.10.0"):
            with pytest.raises(KafkaError, match="larger than max_partition_fetch_bytes=1000"):
                c.poll(timeout=SOON)
        else:
            assert len(c.poll(timeout=SOON)) == 1


@pytest.mark.parametrize(
    ("version", "asked"), [("4.4", [5]), ("4.3", [5, 4]), ("2.8", [5, 3]), ("2.0", [5, 0]), ("0.10.0", [5, 0])]
)
def test_trap_5_api_versions_is_asked_again_in_the_version_that_the_broker_names(face, version, asked):
    """Or in 0, where it names none."""
    with MockCluster(brokers=1, topics={"t": 1}, version=version) as kafka, face.Connection(kafka.bootstrap) as connection:
        assert connection.topics(timeout=SOON) == ["t"]
        exchanges = kafka.journal.requests("ApiVersions")
        assert [e.version for e in exchanges if e.client.connection == exchanges[0].client.connection] == asked


def test_trap_6_a_connection_closed_on_api_versions_is_tried_in_version_0(face):
    """As some services do with versions that they do not know."""
    with MockCluster(brokers=1, topics={"t": 1}) as kafka, face.Connection(kafka.bootstrap) as connection:
        kafka.disconnect("ApiVersions", times=1)
        assert connection.topics(timeout=SOON) == ["t"]
        assert [e.version for e in kafka.journal.requests("ApiVersions")][:2] == [5, 0]


def test_trap_6_brokers_that_always_close_are_given_up(face):
    """Nor is a modern one taken for an old one: it would not answer as one."""
    with MockCluster(brokers=1, topics={"t": 1}) as kafka:
        kafka.disconnect("ApiVersions")
        kafka.disconnect("ListOffsets")
        with (
            face.Connection(kafka.bootstrap, reconnect_backoff_ms=60_000, reconnect_backoff_max_ms=60_000) as connection,
            pytest.raises(KafkaError),
        ):
            connection.topics(timeout=2)
        assert [(e.api, e.version) for e in kafka.journal.requests()] == [
            ("ApiVersions", 5),
            ("ApiVersions", 0),
            ("ListOffsets", 0),
        ]


def test_trap_7_a_cluster_that_is_upgraded_while_in_use(face):
    """Versions belong to the connection: they are asked for anew."""
    with MockCluster(brokers=1, topics={"t": 1}, version="2.0") as kafka:
        with face.Producer(bootstrap_servers=kafka.bootstrap, reconnect_backoff_ms=10) as p:
            p.send("t", b"0").result(timeout=SOON)
            kafka.call(lambda: setattr(kafka.cluster, "profile", profile("4.0")))
            kafka.brokers[1].restart()
            p.send("t", b"1").result(timeout=SOON)
        versions = [e.version for e in kafka.journal.requests("Produce")]
        assert versions[0] == 6
        assert versions[-1] > 10

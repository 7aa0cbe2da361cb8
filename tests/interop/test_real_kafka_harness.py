"""The brokers that the other interop tests rely on are what they claim to be: seen through raw sockets and peers only."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.real.broker import RealKafka
from tests.real.jvm import StartError
from tests.requirements import peer

pytestmark = pytest.mark.real

BROKERS = ["kafka_newest", "kafka_0822"]
METADATA, API_VERSIONS = 3, 18
NO_ERROR = 0


class Metadata(NamedTuple):
    """Metadata v0 response about one topic: brokers, error code, number of partitions."""

    brokers: dict[int, str]
    error: int
    partitions: int


@pytest.fixture(params=BROKERS)
def broker(request: pytest.FixtureRequest) -> RealKafka:
    running = request.getfixturevalue(request.param)
    assert isinstance(running, RealKafka)
    return running


def exchange(bootstrap: str, api_key: int, api_version: int, body: bytes) -> bytes:
    """The body of the response, empty if the broker closes the connection instead."""
    host, port = bootstrap.split(":")
    frame = struct.pack(">hhih", api_key, api_version, 7, -1) + body
    with socket.create_connection((host, int(port)), 10) as connection, connection.makefile("rb") as stream:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        size = stream.read(4)
        if not size:
            return b""
        response = stream.read(*struct.unpack(">i", size))
    assert response[:4] == struct.pack(">i", 7)
    return response[4:]


def metadata(bootstrap: str, topic: str) -> Metadata:
    body = exchange(bootstrap, METADATA, 0, struct.pack(f">ih{len(topic)}s", 1, len(topic), topic.encode()))
    (count,), at = struct.unpack_from(">i", body), 4
    brokers = {}
    for _ in range(count):
        node_id, size = struct.unpack_from(">ih", body, at)
        host, port = struct.unpack_from(f">{size}si", body, at + 6)
        brokers[node_id] = f"{host.decode()}:{port}"
        at += 6 + size + 4
    _, error, size = struct.unpack_from(">ihh", body, at)
    (partitions,) = struct.unpack_from(">i", body, at + 8 + size)
    return Metadata(brokers, error, partitions)


def settled_metadata(bootstrap: str, topic: str) -> Metadata:
    """Metadata without an error: a broker serves before its controller has told it of a new topic, or of any after a start."""
    while (found := metadata(bootstrap, topic)).error != NO_ERROR:
        pass
    return found


def test_created_topic_is_served_by_the_one_broker(broker: RealKafka) -> None:
    broker.create_topic("harness-created", partitions=3)
    assert settled_metadata(broker.bootstrap, "harness-created") == Metadata({1: broker.bootstrap}, NO_ERROR, 3)


def test_newest_broker_answers_api_versions(kafka_newest: RealKafka) -> None:
    body = exchange(kafka_newest.bootstrap, API_VERSIONS, 0, b"")
    error, count = struct.unpack_from(">hi", body)
    ranges = {key: (oldest, newest) for key, oldest, newest in struct.iter_unpack(">hhh", body[6 : 6 + 6 * count])}
    assert error == NO_ERROR
    assert ranges[API_VERSIONS] == (0, 5)
    assert ranges[METADATA][1] == 13


def test_oldest_broker_closes_the_connection_on_api_versions(kafka_0822: RealKafka) -> None:
    assert exchange(kafka_0822.bootstrap, API_VERSIONS, 0, b"") == b""


def test_peer_reads_back_what_it_produced(kafka_newest: RealKafka) -> None:
    confluent = peer("confluent_kafka")
    producer = confluent.Producer({"bootstrap.servers": kafka_newest.bootstrap})
    producer.produce("harness-peer", b"value", key=b"key")
    assert producer.flush(30) == 0
    consumer = confluent.Consumer(
        {"bootstrap.servers": kafka_newest.bootstrap, "group.id": "harness", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["harness-peer"])
    message = consumer.poll(30)
    consumer.close()
    assert (message.key(), message.value()) == (b"key", b"value")


def test_restart_keeps_port_and_topics() -> None:
    with RealKafka("0.8.2.2", num_partitions=2) as broker:
        before = broker.bootstrap
        broker.create_topic("kept", partitions=5)
        broker.stop()
        with pytest.raises(ConnectionRefusedError):
            metadata(broker.bootstrap, "kept")
        broker.start()
        assert broker.bootstrap == before
        assert settled_metadata(broker.bootstrap, "kept") == Metadata({1: before}, NO_ERROR, 5)


def test_failed_start_shows_the_end_of_the_log() -> None:
    with (
        pytest.raises(
            StartError,
            match=r"(?s)kafka 0\.8\.2\.2 ended with exit code \d; its last lines:.*NumberFormatException",
        ),
        RealKafka("0.8.2.2", num_partitions="many"),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_runs_until_told_to_stop(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tests.real.broker", "--version", "0.8.2.2", "--set", "num.partitions=4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        name, _, bootstrap = process.stdout.readline().strip().partition("=")
        assert name == "bootstrap.servers"
        assert settled_metadata(bootstrap, "created-by-asking").partitions == 4
        process.send_signal(number)
        assert process.wait(30) == 0
        with pytest.raises(ConnectionRefusedError):
            metadata(bootstrap, "created-by-asking")

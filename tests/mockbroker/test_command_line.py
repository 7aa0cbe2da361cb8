"""`python -m mockbroker` as a process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from tests.mockbroker.raw import TcpClient

TIMEOUT = 20.0


class Address:
    def __init__(self, text):
        self.host, _, port = text.rpartition(":")
        self.port = int(port)


@contextmanager
def running(*arguments):
    """The process and the addresses that it printed."""
    command = [sys.executable, "-m", "mockbroker", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            name, _, addresses = process.stdout.readline().strip().partition("=")
            assert name == "bootstrap.servers", process.stderr.read()
            yield process, [Address(address) for address in addresses.split(",")]
        finally:
            process.kill()


def topics_of(address, version=12):
    with TcpClient(address) as client:
        return {topic.name: len(topic.partitions) for topic in client.call(MetadataRequest(topics=None), version).topics}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_where_it_listens_and_stops_on_a_signal(number):
    with running("--brokers", "2", "--topic", "flights:6", "--topic", "other") as (process, addresses):
        assert [topics_of(address) for address in addresses] == [{"flights": 6, "other": 1}] * 2
        process.send_signal(number)
        assert process.wait(TIMEOUT) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_version_and_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with running("--brokers", "1", "--version", "0.10.2", "--port", str(free)) as (_, (address,)):
        assert address.port == free
        with TcpClient(address) as client:
            assert {api.api_key: api.max_version for api in client.call(ApiVersionsRequest(), 0).api_keys}[0] == 2


def test_broker_ids_and_ports_as_another_cluster_has_them():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = min(probe.getsockname()[1], 65_000)
    options = ["--brokers", "2", "--first-broker-id", "0", "--port", str(free), "--port-step", "100"]
    with running(*options) as (_, addresses):
        assert [address.port for address in addresses] == [free, free + 100]
        with TcpClient(addresses[1]) as client:
            brokers = client.call(MetadataRequest(topics=[]), 12).brokers
        assert [(broker.node_id, broker.port) for broker in brokers] == [(0, free), (1, free + 100)]


def test_configuration_racks_and_another_address():
    options = [
        "--config",
        "auto.create.topics.enable=false",
        "--rack",
        "a",
        "--rack",
        "b",
        "--advertised-host",
        "kafka.example",
    ]
    with running("--brokers", "3", *options) as (_, addresses), TcpClient(addresses[0]) as client:
        found = client.call(MetadataRequest(topics=[MetadataRequest.Topic(name="new")]), 12)
        assert [(one.host, one.port, one.rack) for one in found.brokers] == [
            ("kafka.example", address.port, rack) for address, rack in zip(addresses, "aba", strict=True)
        ]
        for _ in range(2):
            again = client.call(MetadataRequest(topics=[MetadataRequest.Topic(name="new")]), 12)
            assert again.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_what_it_cannot_do_it_says():
    with MockCluster(1) as mock:
        for arguments, reason in [
            (["--version", "0.7"], "0.8.2 to"),
            (["--port", str(mock.brokers[1].port)], "in use"),
            (["--topic", "t:many"], "t:many"),
            (["--topic", "a b"], "invalid"),
            (["--topic", "t:0"], "partitions"),
            (["--brokers", "0"], "at least"),
            (["--config", "num.partitions"], "NAME=VALUE"),
            (["--config", "num.partitions=many"], "Not a number"),
            (["--load", "/no/such/file"], "No such file"),
            (["--fault", "{"], "--fault"),
            (["--fault", "{}"], "one of fail, delay"),
            (["--http", "http"], "--http"),
            (
                ["--http", str(mock.brokers[1].port)],
                f"cannot listen on 127.0.0.1:{mock.brokers[1].port}: Address already in use",
            ),
            (
                ["--port", str(mock.brokers[1].port)],
                f"cannot listen on 127.0.0.1:{mock.brokers[1].port}: Address already in use",
            ),
            (["--http", "99999"], "99999 is no port"),
            (["--http", "-1"], "-1 is no port"),
            (["--http", "web"], "'web' is no [ADDRESS:]PORT"),
            (["--topic", "flights:six"], "'flights:six' is no NAME:PARTITIONS"),
            (["--port", "99999"], "99999 is no port"),
            (["--port", "65535", "--brokers", "2"], "65536 is no port"),
            (["--config", "num.partitons=3"], "num.partitions"),
            (["--fault", '{"action": "delay", "seconds": NaN}'], "NaN is no number"),
            (["--topic", "t:1000000000"], "100000 at most"),
            (["--first-broker-id", "-1"], "-1"),
        ]:
            command = [sys.executable, "-m", "mockbroker", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            assert (done.returncode, done.stdout) == (2, "")
            assert reason in done.stderr
            assert done.stderr.count("\n") == 1, done.stderr


def test_what_is_loaded_broken_held_and_dumped(tmp_path):
    records, dumped = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    records.write_text('{"topic": "t", "value": "v", "timestamp": 5}\n')
    fault = '{"action": "fail", "api": "Metadata", "error": "LEADER_NOT_AVAILABLE", "times": 1}'
    options = ["--load", str(records), "--fault", fault, "--hold-clock", "--dump", str(dumped), "--http", "0"]
    with running("--brokers", "1", *options) as (process, (address,)):
        name, _, url = process.stdout.readline().strip().partition("=")
        assert name == "control"
        with urllib.request.urlopen(url + "/clock", timeout=TIMEOUT) as answer:
            assert json.load(answer)["held"] is True
        with TcpClient(address) as client:
            codes = [client.call(MetadataRequest(topics=None), 12).topics[0].error_code for _ in range(2)]
            assert codes == [ErrorCode.LEADER_NOT_AVAILABLE, 0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT) == 0
    topic, record = map(json.loads, dumped.read_text().splitlines())
    assert topic == {"topic": "t", "partitions": 1, "configs": {}}
    assert (record["value"], record["timestamp"]) == ("v", 5)

"""`python -m mockbroker` as a process, and the pytest plug-in in a pytest of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from tests.mockbroker.raw import TcpClient

pytest_plugins = ["pytester"]

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


def test_what_it_cannot_do_it_says():
    with MockCluster(1) as mock:
        for arguments, reason in [
            (["--version", "0.7"], "0.8.2 to"),
            (["--port", str(mock.brokers[1].port)], "in use"),
            (["--topic", "t:many"], "t:many"),
            (["--topic", "a b"], "invalid"),
            (["--topic", "t:0"], "partitions"),
            (["--brokers", "0"], "at least"),
        ]:
            command = [sys.executable, "-m", "mockbroker", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            assert (done.returncode, done.stdout) == (2, "")
            assert reason in done.stderr
            assert "Traceback" not in done.stderr


PROJECT = """
    import pytest

    def test_default(mock_kafka):
        assert sorted(mock_kafka.brokers) == [1, 2, 3]
        mock_kafka.create_topic("t")
        assert mock_kafka.produce("t", b"a") == [0]

    def test_each_test_has_its_own(mock_kafka):
        with pytest.raises(Exception, match="no topic"):
            mock_kafka.messages("t")

    @pytest.mark.mock_kafka(brokers=1, topics={"flights": 6}, version="2.8")
    def test_marked(mock_kafka):
        assert len(mock_kafka.brokers) == 1
        assert mock_kafka.end_offset("flights", 5) == 0
        assert "Kafka 2.8" in repr(mock_kafka)

    @pytest.mark.mock_kafka(version="0.7")
    def test_wrong(mock_kafka):
        pass
"""


def test_the_pytest_plugin(pytester):
    pytester.makepyfile(PROJECT)
    result = pytester.runpytest_subprocess("--strict-markers", "-W", "error")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*versions 0.8.2 to *"])
    pytester.runpytest_subprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.mock_kafka(brokers=3*"])


def test_the_plugin_imports_nothing_until_it_is_used():
    check = (
        "import sys, mockbroker.pytest_plugin; print([m for m in sys.modules if m.startswith(('kafkawire', 'mockbroker.'))])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert done.stdout.strip() == "['mockbroker.pytest_plugin']"

"""Many connections, requests and partitions: all are served, and connections that end are freed."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import socket
import time

import pytest

from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster, ServerConnection
from mockbroker.drive.transport import Transport
from tests.mockbroker.groups import heartbeat
from tests.mockbroker.raw import TIMEOUT, TcpClient, fetch_request, fetched, still_serves, values_in


@pytest.fixture
def mock():
    with MockCluster(3, topics={"t": 1}) as cluster:
        yield cluster


def test_many_requests_at_once_do_not_hold_up_other_clients(mock):
    with TcpClient(mock.brokers[1]) as bystander, TcpClient(mock.brokers[1]) as eager:
        eager.send(fetch_request(max_wait_ms=60_000), 12)
        mock.journal.wait_for("Fetch")
        one = eager.frame(heartbeat("nobody's", "nobody", 1), 4, client_id="eager")[1]
        eager.write(one * 3_000)
        for _ in range(10):  # as often the broker reads from the other, too, and then all are in its queue
            bystander.call(MetadataRequest(topics=[]), 12)

        def release():
            bystander.send(MetadataRequest(topics=[]), 12)
            mock.produce("t", b"a")

        mock.call(release)
        mock.journal.wait_for("Heartbeat", count=3_000)
        served = [exchange.api for exchange in mock.journal.requests()]
        assert served.count("Metadata") == 11
        assert served[-1] == "Heartbeat"


def test_many_requests_at_once_are_all_answered_while_time_stands_still():
    with MockCluster(1, clock="held") as mock, TcpClient(mock.brokers[1]) as client:
        frames = [client.frame(heartbeat("nobody's", "nobody", 1), 4) for _ in range(3_000)]
        client.write(b"".join(frame for _, frame in frames))
        while not frames[-1][0].done:
            client.take(client.read())


def test_1000_connections_are_held_and_all_answered(mock):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(TcpClient(mock.brokers[1])) for _ in range(1_000)]
        waiting = [client.send(fetch_request(max_wait_ms=600_000), 12) for client in clients]
        mock.journal.wait_for("Fetch", count=1_000)
        mock.produce("t", b"for all")
        for client, pending in zip(clients, waiting, strict=True):
            while not pending.done:
                client.take(client.read())
            assert values_in(fetched(pending.result()).records) == [b"for all"]


def test_10000_connections_come_and_go(mock):
    with TcpClient(mock.brokers[2]) as bystander:
        for number in range(10_000):
            with TcpClient(mock.brokers[2]) as client:
                if number % 10 == 0:
                    client.write(b"\0\0")
            if number % 1_000 == 0:
                bystander.call(MetadataRequest(topics=None), 12)
    with TcpClient(mock.brokers[2]) as client:
        client.call(MetadataRequest(topics=None), 12)


def test_10000_partitions():
    with MockCluster(3, topics={"many": 10_000}) as mock, TcpClient(mock.brokers[1]) as client:
        partitions = client.call(MetadataRequest(topics=None), 12).topics[0].partitions
        assert len(partitions) == 10_000
        led = [partition.partition_index for partition in partitions if partition.leader_id == 1]
        opened = client.call(fetch_request(topic="many", partitions=led, session_id=0, session_epoch=0), 12)
        assert len(opened.responses[0].partitions) == len(led)
        waiting = fetch_request(partitions=[], max_wait_ms=600_000, session_id=opened.session_id, session_epoch=1)
        waiting.topics = []
        pending = client.send(waiting, 12)
        mock.journal.wait_for("Fetch", count=2)
        mock.produce("many", b"one of many", partition=led[-1])
        while not pending.done:
            client.take(client.read())
        assert values_in(fetched(pending.result()).records) == [b"one of many"]


def test_without_file_descriptors_clients_are_turned_away_and_others_served(mock):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with TcpClient(mock.brokers[1]) as bystander, contextlib.ExitStack() as stack:
        bystander.call(MetadataRequest(topics=None), 12)  # what is loaded on first use needs descriptors of its own
        clients = [stack.enter_context(socket.socket()) for _ in range(5)]
        probe = os.dup(0)
        os.close(probe)
        resource.setrlimit(resource.RLIMIT_NOFILE, (probe, hard))  # all lower numbers are taken
        try:
            for client in clients:
                client.settimeout(TIMEOUT)
                client.connect((mock.brokers[1].host, mock.brokers[1].port))
                assert client.recv(1) == b""
            assert bystander.call(MetadataRequest(topics=None), 12).topics[0].name == "t"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        still_serves(mock, bystander)


def _alive():
    """Connections that have not been freed, whether or not anybody can still reach them."""
    return sum(isinstance(one, (ServerConnection, Transport)) for one in gc.get_objects())


def _half_a_frame(mock, client):
    client.write((60 << 20).to_bytes(4, "big") + bytes(8 << 20))


def _waiting_fetch(mock, client):
    client.send(fetch_request(max_wait_ms=60_000, topic_id=mock.cluster.topic("t").id), 13)
    mock.journal.wait_for("Fetch")


def _held_request_with_others_behind_it(mock, client):
    mock.hold("Metadata")
    for _ in range(10):
        client.send(MetadataRequest(topics=None), 12)
    mock.journal.wait_for("Metadata")


def _unread_answers(mock, client):
    mock.produce("t", os.urandom(900_000), partition=0)
    for _ in range(20):
        client.send(fetch_request(topic_id=mock.cluster.topic("t").id), 13)
    mock.journal.wait_for("Fetch")


def _nonsense(mock, client):
    client.write(b"GET / HTTP/1.1\r\n\r\n")
    assert not client.read()


@pytest.mark.parametrize(
    "use",
    [_half_a_frame, _waiting_fetch, _held_request_with_others_behind_it, _unread_answers, _nonsense],
    ids=lambda use: use.__name__,
)
def test_a_connection_is_freed_when_it_ends_and_not_when_the_garbage_collector_runs(mock, use):
    gc.collect()
    gc.disable()
    try:
        before = _alive()
        with TcpClient(mock.brokers[1]) as client:
            client.call(MetadataRequest(topics=None), 12)
            use(mock, client)
        deadline = time.monotonic() + TIMEOUT
        while _alive() > before:
            assert time.monotonic() < deadline, f"{_alive() - before} objects stay"
            mock.call(lambda: None)
    finally:
        gc.enable()

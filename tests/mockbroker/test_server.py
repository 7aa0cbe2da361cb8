"""The TCP server: framing, order within a connection, brokers that stop and start, ports, TLS."""

from __future__ import annotations

import os
import socket
import ssl

import pytest
import trustme

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from tests.mockbroker.raw import TIMEOUT, TcpClient, batch, fetch_request, fetched, produce_request, produced, values_in


@pytest.fixture
def mock():
    with MockCluster(3, topics={"t": 1}) as cluster:
        yield cluster


def test_bytes_behind_a_request_are_ignored(mock):
    # librdkafka 2.16 asks for all topics like this: a null array, then what its own longer form of the array pushed back.
    with TcpClient(mock.brokers[1]) as client:
        pending, frame = client.frame(MetadataRequest(topics=None), 12)
        client.write((len(frame) - 4 + 3).to_bytes(4, "big") + frame[4:] + b"\1\0\0")
        while not pending.done:
            client.take(client.read())
        assert pending.result().topics[0].name == "t"


def test_frames_in_single_bytes_and_many_at_once(mock):
    message = MetadataRequest(topics=None)
    with TcpClient(mock.brokers[1]) as client:
        frames = [client.frame(message, 12) for _ in range(10)]
        data = b"".join(frame for _, frame in frames)
        for byte in data[:50]:
            client.write(bytes([byte]))
        client.write(data[50:])
        pendings = [pending for pending, _ in frames]
        while not pendings[-1].done:
            client.take(client.read())
        assert [pending.result().topics[0].name for pending in pendings] == ["t"] * 10


def test_one_connection_is_served_in_order(mock):
    topic_id = mock.cluster.topic("t").id
    with TcpClient(mock.brokers[1]) as client:
        waiting = client.send(fetch_request(max_wait_ms=60_000, topic_id=topic_id), 13)
        behind = client.send(MetadataRequest(topics=None), 12)
        mock.journal.wait_for("Fetch")
        assert mock.journal.requests("Metadata") == []
        mock.produce("t", b"a")
        while not behind.done:
            client.take(client.read())
        assert values_in(fetched(waiting.result()).records) == [b"a"]
        assert [exchange.api for exchange in mock.journal.requests()] == ["Fetch", "Metadata"]


def test_stop_cuts_and_refuses_and_start_comes_back_on_the_same_port(mock):
    broker = mock.brokers[1]
    with TcpClient(broker) as client:
        client.call(MetadataRequest(topics=[]), 12)
        port = broker.port
        broker.stop()
        broker.stop()
        assert client.read() == b""
    assert not broker.online
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((broker.host, port), TIMEOUT)
    assert mock.leader("t", 0) == 2
    with TcpClient(mock.brokers[2]) as other:
        assert [b.node_id for b in other.call(MetadataRequest(topics=[]), 12).brokers] == [2, 3]
    broker.start()
    broker.start()
    assert broker.port == port
    with TcpClient(broker) as client:
        assert len(client.call(MetadataRequest(topics=[]), 12).brokers) == 3
        broker.restart()
        assert client.read() == b""
    with TcpClient(broker) as client:
        client.call(MetadataRequest(topics=[]), 12)


def test_a_waiting_fetch_is_cut_with_its_broker(mock):
    with TcpClient(mock.brokers[1]) as client:
        client.send(fetch_request(max_wait_ms=60_000, topic_id=mock.cluster.topic("t").id), 13)
        mock.journal.wait_for("Fetch")
        mock.brokers[1].stop()
        assert client.read() == b""
    mock.produce("t", b"nobody waits any more")


def test_leaders_move(mock):
    with TcpClient(mock.brokers[1]) as one, TcpClient(mock.brokers[2]) as two:
        assert produced(one.call(produce_request(batch(b"a")), 9)).error_code == 0
        mock.move_leader("t", 0, 2)
        assert produced(one.call(produce_request(batch(b"b")), 9)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert produced(two.call(produce_request(batch(b"b")), 9)).base_offset == 1
    mock.move_leader("t", 0, None)
    assert mock.leader("t", 0) is None
    mock.move_leader("t", 0, 3)
    assert [message.leader_epoch for message in mock.messages("t")] == [0, 1]
    mock.brokers[1].stop()
    with pytest.raises(BrokerError, match="stopped"):
        mock.move_leader("t", 0, 1)
    with pytest.raises(BrokerError, match="no broker 7"):
        mock.move_leader("t", 0, 7)


def test_chosen_ports(mock):
    taken = mock.brokers[1].port
    with pytest.raises(OSError, match="in use"):
        MockCluster(1, port=taken).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with MockCluster(1, port=free) as chosen:
        assert chosen.bootstrap == f"127.0.0.1:{free}"
    with MockCluster(1, port=free) as again:
        assert again.brokers[1].port == free


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def server_context(authority, *, ask_for_certificate=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    if ask_for_certificate:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def tls_client(broker, context):
    client = TcpClient(broker)
    plain = client.socket
    client.socket = context.wrap_socket(plain, server_hostname="localhost")
    return client


def test_tls(authority):
    with MockCluster(1, topics={"t": 1}, tls=server_context(authority)) as mock:
        payload = os.urandom(900_000)
        with tls_client(mock.brokers[1], client_context(authority)) as client:
            assert produced(client.call(produce_request(batch(payload)), 9)).error_code == 0
            assert values_in(fetched(client.call(fetch_request(), 12)).records) == [payload]
        with TcpClient(mock.brokers[1]) as plain:
            plain.send(MetadataRequest(topics=None), 12)
            while plain.read():
                pass
        with tls_client(mock.brokers[1], client_context(authority)) as client:
            client.call(MetadataRequest(topics=None), 12)


def test_tls_with_client_certificates(authority):
    with MockCluster(1, tls=server_context(authority, ask_for_certificate=True)) as mock:
        context = client_context(authority)
        with pytest.raises((ssl.SSLError, ConnectionError)), tls_client(mock.brokers[1], context) as client:
            client.socket.recv(1)
        authority.issue_cert("client@example.org").configure_cert(context)
        with tls_client(mock.brokers[1], context) as client:
            client.call(MetadataRequest(topics=None), 12)

"""The TCP server: hostile bytes, pipelining, brokers that stop and start, ports."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import resource
import socket
import ssl
import time
import tracemalloc

import pytest
import trustme

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker import MockCluster, ServerConnection
from mockbroker.broker.registry import SERVED
from mockbroker.drive.transport import Transport
from tests.mockbroker.groups import heartbeat
from tests.mockbroker.raw import TIMEOUT, TcpClient, batch, fetch_request, fetched, produce_request, produced, values_in

HOSTILE = {
    "random": random.Random(1).randbytes(10_000),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100f1010000ed0303") + bytes(300),
    "negative length": b"\xff\xff\xff\xff" + bytes(100),
    "absurd length": b"\x7f\xff\xff\xff" + bytes(100),
    "tiny length": b"\0\0\0\1" + bytes(100),
    "unknown API": b"\0\0\0\x0b\x7f\xff\0\0\0\0\0\1\0\1x",
    "client id beyond the frame": b"\0\0\0\x0a\0\3\0\0\0\0\0\1\x7f\xff",
    "body beyond the frame": b"\0\0\0\x0e\0\3\0\0\0\0\0\1\xff\xff\x7f\xff\xff\xff",
}


@pytest.fixture
def mock():
    with MockCluster(3, topics={"t": 1}) as cluster:
        yield cluster


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_end_their_own_connection_only(mock, data):
    with TcpClient(mock.brokers[1]) as bystander, TcpClient(mock.brokers[1]) as hostile:
        waiting = bystander.send(fetch_request(max_wait_ms=60_000, topic_id=mock.cluster.topic("t").id), 13)
        hostile.write(data)
        while hostile.read():
            pass
        mock.produce("t", b"still here")
        while not waiting.done:
            bystander.take(bystander.read())
        assert values_in(fetched(waiting.result()).records) == [b"still here"]


def test_bytes_behind_a_request_are_ignored(mock):
    # librdkafka 2.16 asks for all topics like this: a null array, then what its own longer form of the array pushed back.
    with TcpClient(mock.brokers[1]) as client:
        pending, frame = client.frame(MetadataRequest(topics=None), 12)
        client.write((len(frame) - 4 + 3).to_bytes(4, "big") + frame[4:] + b"\1\0\0")
        while not pending.done:
            client.take(client.read())
        assert pending.result().topics[0].name == "t"


def test_half_a_frame_and_silence_block_nobody(mock):
    with TcpClient(mock.brokers[1]) as half, TcpClient(mock.brokers[1]) as other:
        half.write(b"\0\0\1\0\0\3")
        assert other.call(MetadataRequest(topics=None), 12).topics[0].name == "t"


def test_a_client_that_does_not_read_blocks_nobody(mock):
    mock.produce("t", *[os.urandom(100_000)] * 10, partition=0)
    request = fetch_request(topic_id=mock.cluster.topic("t").id, partition_max_bytes=1 << 20)
    with TcpClient(mock.brokers[1]) as deaf, TcpClient(mock.brokers[1]) as other:
        pendings = [deaf.send(request, 13) for _ in range(50)]
        for _ in range(3):
            assert len(fetched(other.call(request, 13)).records) > 1_000_000
        while not pendings[-1].done:
            deaf.take(deaf.read())
        assert {len(fetched(pending.result()).records) for pending in pendings} == {len(fetched(pendings[0].result()).records)}


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


def still_serves(mock, client):
    """A client that was there before gets its answers, and so does a new one."""
    assert client.call(MetadataRequest(topics=None), 12).topics[0].name == "t"
    with TcpClient(mock.brokers[1]) as new:
        assert new.call(MetadataRequest(topics=None), 12).topics[0].name == "t"


def write_and_drain(client, data):
    """Send all and read until the broker closes, as it does at the end of what can be answered."""
    with contextlib.suppress(ConnectionError):
        client.write(data)
        client.socket.shutdown(socket.SHUT_WR)
    while client.read():
        pass


@pytest.mark.parametrize("seed", range(10))
def test_random_bodies_behind_good_headers(mock, seed):
    chance = random.Random(seed)
    apis = sorted(SERVED)
    with TcpClient(mock.brokers[1]) as bystander:
        for _ in range(20):
            frames = b""
            for _ in range(chance.randrange(1, 20)):
                header = chance.choice(apis).to_bytes(2, "big") + bytes([0, chance.randrange(14), 0, 0, 0, 1, 0xFF, 0xFF])
                body = header + chance.randbytes(chance.randrange(200))
                frames += len(body).to_bytes(4, "big") + body
            with TcpClient(mock.brokers[1]) as hostile:
                write_and_drain(hostile, frames)
        still_serves(mock, bystander)


@pytest.mark.parametrize("seed", range(5))
def test_requests_with_damaged_bytes(mock, seed):
    chance = random.Random(seed)
    messages = [
        (fetch_request(topic_id=mock.cluster.topic("t").id), 13),
        (produce_request(batch(b"v" * 50)), 9),
        (MetadataRequest(topics=None), 12),
        (OffsetFetchRequest(groups=[OffsetFetchRequest.Group(group_id="g", topics=None)]), 8),
    ]
    with TcpClient(mock.brokers[1]) as bystander:
        for _ in range(50):
            message, version = chance.choice(messages)
            with TcpClient(mock.brokers[1]) as hostile:
                frame = bytearray(hostile.frame(message, version)[1])
                for _ in range(chance.randrange(1, 4)):
                    frame[chance.randrange(8, len(frame))] = chance.randrange(256)
                write_and_drain(hostile, frame)
        still_serves(mock, bystander)


def test_promised_bytes_take_no_memory_before_they_have_come(mock):
    limit = 100 * 1024 * 1024  # socket.request.max.bytes
    with TcpClient(mock.brokers[1]) as bystander, contextlib.ExitStack() as stack:
        tracemalloc.start()
        for _ in range(100):
            promising = stack.enter_context(TcpClient(mock.brokers[1]))
            promising.write(limit.to_bytes(4, "big") + b"\0\3\0\x0c")
        still_serves(mock, bystander)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < limit
        with TcpClient(mock.brokers[1]) as beyond:
            beyond.write((limit + 1).to_bytes(4, "big"))
            assert beyond.read() == b""


def test_an_array_that_promises_too_much_is_refused(mock):
    with TcpClient(mock.brokers[1]) as bystander, TcpClient(mock.brokers[1]) as hostile:
        body = b"\0\3\0\0" + bytes(4) + b"\xff\xff" + b"\x7f\xff\xff\xff"  # Metadata v0 with 2**31 - 1 topics
        hostile.write(len(body).to_bytes(4, "big") + body)
        assert hostile.read() == b""
        still_serves(mock, bystander)


def test_more_partitions_than_a_controller_takes_at_once_are_refused(mock):
    many, few = (
        CreateTopicsRequest.CreatableTopic(name=name, num_partitions=n) for name, n in [("many", 2**31 - 1), ("few", 1)]
    )
    full = CreateTopicsRequest.CreatableTopic(name="full", num_partitions=10_000)
    more = CreatePartitionsRequest.Topic(name="t", count=2**31 - 1, assignments=None)
    with TcpClient(mock.brokers[1]) as client:
        answers = client.call(CreateTopicsRequest(topics=[many, few]), 7).topics
        assert [answer.error_code for answer in answers] == [ErrorCode.POLICY_VIOLATION] * 2
        assert answers[0].error_message == "Excessively large number of partitions per request."
        (answer,) = client.call(CreateTopicsRequest(topics=[full]), 7).topics
        assert answer.error_message == "Unable to perform excessively large batch operation."
        (answer,) = client.call(CreatePartitionsRequest(topics=[more]), 3).results
        assert (answer.error_code, answer.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
        still_serves(mock, client)


def test_a_flood_whose_answers_are_never_read_stops_by_itself(mock):
    mock.produce("t", bytes(900_000), partition=0)
    with TcpClient(mock.brokers[1]) as bystander, TcpClient(mock.brokers[1]) as deaf:
        _, frame = deaf.frame(fetch_request(), 12)
        deaf.socket.settimeout(0.5)
        flood = frame * 1_000
        with pytest.raises(TimeoutError):
            deaf.write(flood * 1_000)
        still_serves(mock, bystander)


def test_a_flood_behind_a_waiting_fetch_stops_by_itself(mock):
    with TcpClient(mock.brokers[1]) as bystander, TcpClient(mock.brokers[1]) as patient:
        patient.send(fetch_request(max_wait_ms=60_000), 12)
        patient.socket.settimeout(0.5)
        some = patient.frame(ApiVersionsRequest(), 0, client_id="")[1] * 1_000  # requests without a body
        with pytest.raises(TimeoutError):
            list(map(patient.write, [some] * 1_500))
        still_serves(mock, bystander)


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

"""Clients that send nonsense, promise too much or never read: the mock broker turns them away and serves the others."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import tracemalloc

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker import MockCluster
from mockbroker.broker.registry import SERVED
from tests.mockbroker.raw import TcpClient, batch, fetch_request, fetched, produce_request, still_serves, values_in

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

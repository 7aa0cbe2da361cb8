"""`MockCluster` as tests use it, and its journal."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import Journal, MockCluster
from tests.mockbroker.raw import MemoryMock, TcpClient, batch, fetch_request, fetched, produce_request, produced, values_in


def test_records_in_and_out():
    with MockCluster(1, topics={"t": 3}) as mock:
        assert mock.produce("t", "text", b"bytes", None, partition=2, timestamp=5, headers=[("h", b"1")]) == [0, 1, 2]
        assert mock.produce("t", b"later", partition=2, key="k", timestamp=6) == [3]
        assert mock.produce("t", b"first", partition=0) == [0]
        assert mock.produce("t", b"x") == [1]
        assert mock.produce("t") == []
        messages = mock.messages("t")
        assert [(m.partition, m.offset, m.key, m.value) for m in messages] == [
            (0, 0, None, b"first"),
            (0, 1, None, b"x"),
            (2, 0, None, b"text"),
            (2, 1, None, b"bytes"),
            (2, 2, None, None),
            (2, 3, b"k", b"later"),
        ]
        assert messages[2].headers == (("h", b"1"),)
        assert [m.timestamp for m in mock.messages("t", 2)] == [5, 5, 5, 6]
        assert [mock.end_offset("t", partition) for partition in range(3)] == [2, 0, 4]


def test_keys_choose_partitions_as_in_java():
    with MockCluster(1, topics={"t": 10}) as mock:
        for key in (b"", b"kafka", "flights"):
            mock.produce("t", b"v", key=key)
        by_key = {message.key: message.partition for message in mock.messages("t")}
        assert by_key[b"kafka"] == (0xD067CF64 & 0x7FFFFFFF) % 10  # the published hash of "kafka"
        assert by_key[b""] == (0x106E08D9 & 0x7FFFFFFF) % 10


def test_topics_and_refusals():
    with MockCluster() as mock:
        mock.create_topic("t", 2, replication_factor=2, max_message_bytes=100, **{"cleanup.policy": "compact"})
        with pytest.raises(BrokerError, match="already exists") as caught:
            mock.create_topic("t")
        assert caught.value.error is ErrorCode.TOPIC_ALREADY_EXISTS
        with pytest.raises(BrokerError, match=r"max\.message\.bytes"):
            mock.produce("t", bytes(200), key=b"k")
        with pytest.raises(BrokerError, match="partitions 0 to 1"):
            mock.produce("t", b"", partition=2)
        with pytest.raises(BrokerError, match=r"no topic 'u', only \['t'\]"):
            mock.messages("u")
        mock.delete_topic("t")
        with pytest.raises(BrokerError, match="no topic"):
            mock.end_offset("t")
    with pytest.raises(ValueError, match=r"9\.9"):
        MockCluster(version="9.9")


def test_closing_twice_and_reading_afterwards():
    mock = MockCluster(1, topics={"t": 1}).start()
    mock.produce("t", b"a")
    mock.close()
    mock.close()
    assert [message.value for message in mock.messages("t")] == [b"a"]


def test_many_threads_may_use_it_at_once_even_while_it_closes():
    with MockCluster(1, topics={"t": 1}) as mock:
        offsets: list[int] = []

        def produce():
            for _ in range(200):
                offsets.extend(mock.produce("t", b"v"))

        threads = [threading.Thread(target=produce) for _ in range(4)]
        for thread in threads:
            thread.start()
        mock.journal.requests()
    for thread in threads:
        thread.join()
    assert sorted(offsets) == list(range(800))


def test_a_cluster_can_be_started_again():
    mock = MockCluster(1, topics={"t": 1})
    for expected in (0, 1):
        with mock, TcpClient(mock.brokers[1]) as client:
            assert produced(client.call(produce_request(batch(b"v")), 9)).base_offset == expected


def test_in_asyncio():
    async def scenario():
        async with MockCluster(1, topics={"t": 1}) as mock:
            mock.produce("t", b"a")
            return mock.end_offset("t")

    assert asyncio.run(scenario()) == 1


def test_old_clusters_keep_old_formats():
    for version, timestamp in [("0.9", None), ("0.10.2", 5), ("2.8", 5)]:
        with MockCluster(1, topics={"t": 1}, version=version) as mock:
            mock.produce("t", b"a", b"b", timestamp=5)
            (a, b) = mock.messages("t")
            assert (a.value, b.value, b.offset) == (b"a", b"b", 1)
            assert b.timestamp == timestamp


def test_the_journal_keeps_requests_with_their_answers():
    with MockCluster(1, topics={"t": 1}) as mock, TcpClient(mock.brokers[1]) as client:
        client.call(MetadataRequest(topics=None), 12, client_id="one")
        client.call(produce_request(batch(b"a")), 9, client_id="two")
        client.send(produce_request(batch(b"b"), acks=0), 9, replies=False)
        client.call(fetch_request(), 12)
        assert [exchange.api for exchange in mock.journal.requests()] == ["Metadata", "Produce", "Produce", "Fetch"]
        (metadata,) = mock.journal.requests(client_id="one")
        assert (metadata.version, metadata.broker, metadata.client.connection, metadata.request.topics) == (12, 1, 1, None)
        assert metadata.response.topics[0].name == "t"
        first, second = mock.journal.requests("Produce", broker=1)
        assert values_in(first.request.topic_data[0].partition_data[0].records) == [b"a"]
        assert (first.response is None, second.response) == (False, None)
        assert values_in(fetched(mock.journal.requests("Fetch")[0].response).records) == [b"a", b"b"]
        assert "Produce v9 from 'two'" in repr(first)
        mock.journal.clear()
        assert mock.journal.requests() == []


def test_waiting_for_requests():
    with MockCluster(1) as mock, TcpClient(mock.brokers[1]) as client:
        for _ in range(3):
            client.send(MetadataRequest(topics=[]), 12, client_id="me")
        assert len(mock.journal.wait_for("Metadata", count=3, client_id="me")) == 3
        with pytest.raises(AssertionError, match=r"0 of 1 x Fetch; the journal has Metadata"):
            mock.journal.wait_for("Fetch", timeout=0.01)


def test_the_journal_is_bounded():
    mock = MemoryMock(topics={"t": 1})
    mock.cluster.journal = Journal(exchanges=5, size=5_000)
    client = mock.client()
    for version in range(12):
        client.call(MetadataRequest(topics=[]), version)
    assert [exchange.version for exchange in mock.cluster.journal.requests()] == [7, 8, 9, 10, 11]
    client.call(produce_request(batch(bytes(4_000))), 9)
    client.call(produce_request(batch(bytes(4_000))), 9)
    assert len(mock.cluster.journal.requests()) < 5
    client.call(fetch_request(), 12)  # more than the journal may hold: not even that one stays
    assert mock.cluster.journal.requests() == []
    client.call(MetadataRequest(topics=[]), 9)
    assert len(mock.cluster.journal.requests()) == 1


def test_an_answer_that_comes_when_its_request_has_left_the_journal():
    mock = MemoryMock(topics={"t": 1})
    mock.cluster.journal = Journal(exchanges=2, size=20_000)
    waiting = mock.client().send(fetch_request(max_wait_ms=500), 12)
    client = mock.client()
    for _ in range(3):
        client.call(MetadataRequest(topics=[]), 12)
    client.call(produce_request(batch(bytes(15_000))), 9)
    assert waiting.done
    for _ in range(3):
        client.call(MetadataRequest(topics=[]), 12)
    client.call(produce_request(batch(bytes(15_000))), 9)
    assert [exchange.api for exchange in mock.cluster.journal.requests()] == ["Metadata", "Produce"]

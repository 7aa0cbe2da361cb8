"""The journal: what it keeps, how it is asked, and what its assertions say when they fail."""

from __future__ import annotations

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker import Exchange, Journal, MockCluster
from mockbroker.broker.client import Client
from tests.mockbroker.raw import MemoryMock, TcpClient, batch, fetch_request, fetched, produce_request, values_in


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
        with pytest.raises(AssertionError, match=r"0.01 s there came 0 of 1 x Fetch with client_id='you'; the journal has 3"):
            mock.journal.wait_for("Fetch", timeout=0.01, client_id="you")


def test_the_journal_is_bounded():
    mock = MemoryMock(topics={"t": 1})
    mock.journal = mock.server.observers.journal = Journal(mock.cluster, mock.server, exchanges=5, size=5_000)
    client = mock.client()
    for version in range(12):
        client.call(MetadataRequest(topics=[]), version)
    assert [exchange.version for exchange in mock.journal.requests()] == [7, 8, 9, 10, 11]
    client.call(produce_request(batch(bytes(4_000))), 9)
    client.call(produce_request(batch(bytes(4_000))), 9)
    assert len(mock.journal.requests()) < 5
    client.call(fetch_request(), 12)  # more than the journal may hold: not even that one stays
    assert mock.journal.requests() == []
    client.call(MetadataRequest(topics=[]), 9)
    assert len(mock.journal.requests()) == 1


def test_an_answer_that_comes_when_its_request_has_left_the_journal():
    mock = MemoryMock(topics={"t": 1})
    mock.journal = mock.server.observers.journal = Journal(mock.cluster, mock.server, exchanges=2, size=20_000)
    waiting = mock.client().send(fetch_request(max_wait_ms=500), 12)
    client = mock.client()
    for _ in range(3):
        client.call(MetadataRequest(topics=[]), 12)
    client.call(produce_request(batch(bytes(15_000))), 9)
    assert waiting.done
    for _ in range(3):
        client.call(MetadataRequest(topics=[]), 12)
    client.call(produce_request(batch(bytes(15_000))), 9)
    assert [exchange.api for exchange in mock.journal.requests()] == ["Metadata", "Produce"]


@pytest.fixture
def mock():
    return MemoryMock(2, topics={"t": 2, "u": 1})


def test_requests_are_found_by_all_that_selects_faults(mock):
    one, two = mock.client(1), mock.client(2)
    one.call(MetadataRequest(topics=[]), 11)
    two.call(MetadataRequest(topics=[]), 12, client_id="two")
    one.call(fetch_request(topic_id=mock.topic_id("t")), 13)
    one.call(fetch_request(topic="u", partitions=[0]), 12)
    one.call(OffsetFetchRequest(group_id="g", topics=None), 7)
    journal = mock.journal
    assert journal.count("Metadata") == 2
    assert journal.count("Metadata", version=12) == 1
    assert journal.count(["Metadata", "Fetch"], connection=1) == 3
    assert [one.api for one in journal.requests(broker=2)] == ["Metadata"]
    assert [one.version for one in journal.requests("Fetch", topic="t")] == [13]
    assert journal.count(topic="t", partition=1) == 1  # OffsetFetch asked for all
    assert journal.count("Fetch", topic="u", partition=0) == 1
    assert [one.api for one in journal.requests(group="g")] == ["OffsetFetch"]
    with pytest.raises(ValueError, match="no API 'Fech'"):
        journal.count("Fech")


def test_assertions(mock):
    journal = mock.journal
    with pytest.raises(AssertionError, match=r"there came 0 x Produce, not at least one; the journal has nothing"):
        journal.expect("Produce")
    client = mock.client()
    client.call(MetadataRequest(topics=[]), 12)
    client.call(produce_request(batch(b"v")), 9)
    client.call(fetch_request(), 12)
    assert len(journal.expect("Produce", topic="t")) == 1
    assert journal.expect("Produce", count=0, topic="u") == []
    with pytest.raises(AssertionError) as failed:
        journal.expect(["Produce", "Fetch"], count=1, client_id="raw")
    first, *lines = str(failed.value).splitlines()
    assert first == "there came 2 x Produce or Fetch with client_id='raw', not 1; the journal has 3, the last of them"
    assert [line.split()[2] for line in lines] == ["<Metadata", "<Produce", "<Fetch"]
    assert [one.api for one in journal.expect_in_order("Metadata", "Fetch")] == ["Metadata", "Fetch"]
    with pytest.raises(AssertionError, match="no Metadata came after Produce in Produce > Metadata;"):
        journal.expect_in_order("Produce", "Metadata")


def test_a_failed_assertion_lists_the_last_requests_only(mock):
    client = mock.client()
    for _ in range(50):
        client.call(MetadataRequest(topics=[]), 12)
    with pytest.raises(AssertionError) as failed:
        mock.journal.expect("Fetch")
    assert len(str(failed.value).splitlines()) == 21


def test_json_lines(mock):
    client = mock.client()
    client.call(ApiVersionsRequest(client_software_name="raw-client", client_software_version="1.0"), 3)
    mock.clock.advance(60)
    waiting = client.send(fetch_request(max_wait_ms=500), 12)
    mock.clock.advance(0.5)
    assert waiting.done
    client.send(produce_request(batch(b"v"), acks=0), 9, replies=False)
    file = io.StringIO()
    mock.journal.dump(file, ["ApiVersions", "Fetch", "Produce"])
    versions, fetch, produce = map(json.loads, file.getvalue().splitlines())
    assert versions["request"]["clientSoftwareName"] == versions["clientSoftwareName"] == "raw-client"
    assert (fetch["api"], fetch["apiVersion"], fetch["clientId"], fetch["broker"], fetch["connection"]) == (
        "Fetch",
        12,
        "raw",
        1,
        1,
    )
    assert (fetch["time"] - versions["time"], fetch["responseTime"] - fetch["time"]) == (60, 0.5)
    assert fetch["time"] == 1_700_000_060
    assert fetch["response"]["responses"][0]["topic"] == "t"
    assert fetch["correlationId"] == 1
    assert (produce["response"], produce["responseTime"]) == (None, None)


def test_what_is_malformed_is_kept_and_shown_as_null(mock):
    _, frame = mock.client().frame(MetadataRequest(topics=None), 12)
    mock.answer((len(frame) - 4 - 2).to_bytes(4, "big") + frame[4:-2])
    (exchange,) = mock.journal.requests("Metadata")
    assert (exchange.to_dict()["request"], exchange.to_dict()["response"]) == (None, None)
    assert mock.journal.count("Metadata", topic="t") == 0


def test_secrets_are_not_shown(mock):
    cls: Any = protocol.request("AlterUserScramCredentials")
    message = cls(upsertions=[cls.ScramCredentialUpsertion(name="me", salt=b"salt", salted_password=b"secret")])
    body = memoryview(protocol.encode(message, 0))
    header, _ = protocol.decode_request(protocol.encode_frame(message, 0, 1)[4:])
    exchange = Exchange(0.0, 1, Client(1), header, body)
    (shown,) = exchange.to_dict()["request"]["upsertions"]
    assert (shown["name"], shown["salt"], shown["saltedPassword"]) == ("me", "***", "***")
    assert "secret" not in repr(exchange)


def test_errors_stay_as_they_were_sent(mock):
    mock.faults.fail("Metadata", ErrorCode.LEADER_NOT_AVAILABLE)
    mock.faults.cut("Metadata", 3)
    mock.client().send(MetadataRequest(topics=None), 12)
    (exchange,) = mock.journal.requests("Metadata")
    assert {topic.error_code for topic in exchange.response.topics} == {ErrorCode.LEADER_NOT_AVAILABLE}


def test_a_thread_that_waits_before_the_cluster_starts_is_woken():
    mock = MockCluster(1)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(mock.journal.wait_for, "Metadata")
        with mock, TcpClient(mock.brokers[1]) as client:
            client.call(MetadataRequest(topics=[]), 12)
            assert len(waiting.result()) == 1


def test_waiting_in_the_thread_of_the_cluster_does_not_block_it():
    with MockCluster(1) as mock, pytest.raises(AssertionError, match="there came 0 of 1"):
        mock.call(lambda: mock.journal.wait_for("Metadata", timeout=1e8))


def test_threads_that_wait_are_woken():
    with MockCluster(1) as mock, TcpClient(mock.brokers[1]) as client:
        found = []
        threads = [
            threading.Thread(target=lambda count=count: found.append(len(mock.journal.wait_for("Metadata", count=count))))
            for count in (1, 5, 10)
        ]
        for thread in threads:
            thread.start()
        for _ in range(10):
            client.call(MetadataRequest(topics=[]), 12)
        for thread in threads:
            thread.join()
        assert len(found) == 3


@pytest.mark.parametrize(
    ("ask", "error", "reason"),
    [
        (lambda journal: journal.expect("Produce", cleint_id="x"), TypeError, "takes no 'cleint_id'"),
        (lambda journal: journal.requests("Produce", partition="0"), TypeError, "'partition' is '0'"),
        (lambda journal: journal.expect_in_order("Produce", tpoic="t"), TypeError, "takes no 'tpoic'"),
        (lambda journal: journal.wait_for("Produce", timeout=float("nan")), ValueError, "'timeout' is nan"),
        (lambda journal: journal.wait_for("Produce", count="1"), TypeError, "'count' is '1'"),
        (lambda journal: journal.count(["Produce", 3]), TypeError, "by its name"),
    ],
)
def test_questions_that_cannot_be_are_refused(mock, ask, error, reason):
    with pytest.raises(error, match=reason):
        ask(mock.journal)

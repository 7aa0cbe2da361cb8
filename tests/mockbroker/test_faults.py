"""Faults: what each kind does, which requests it meets, and how it counts."""

from __future__ import annotations

import pytest

from kafkawire.errors import CorruptRecordsError, ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker import MockCluster
from tests.mockbroker.raw import MemoryMock, TcpClient, batch, fetch_request, fetched, produce_request, produced, values_in


@pytest.fixture
def mock():
    return MemoryMock(2, topics={"t": 2, "u": 1})


def code(client, **options):
    return ErrorCode.of(produced(client.call(produce_request(batch(b"v"), **options), 9)).error_code)


def test_an_error_a_number_of_times(mock):
    fault = mock.cluster.faults.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, topic="t", times=2)
    client = mock.client()
    assert [code(client) for _ in range(3)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2 + [ErrorCode.NONE]
    assert fault.fired == 2
    assert not fault.active
    assert mock.log("t").end == 1


def test_an_error_for_one_topic_or_partition_leaves_the_others_alone(mock):
    mock.cluster.faults.fail("Produce", ErrorCode.KAFKA_STORAGE_ERROR, topic="u")
    mock.cluster.faults.fail("Fetch", ErrorCode.KAFKA_STORAGE_ERROR, partition=1)
    client = mock.client()
    assert code(client) == 0
    assert code(client, topic="u") == ErrorCode.KAFKA_STORAGE_ERROR
    mock.cluster.move_leader("t", 1, 1)
    answers = client.call(fetch_request(partitions=[0, 1]), 12).responses[0].partitions
    assert [answer.error_code for answer in answers] == [0, ErrorCode.KAFKA_STORAGE_ERROR]


def test_selection_by_broker_client_and_number(mock):
    rules = mock.cluster.faults
    by_broker = rules.fail("Metadata", ErrorCode.INVALID_TOPIC_EXCEPTION, broker=2)
    by_client = rules.fail("FindCoordinator", ErrorCode.COORDINATOR_NOT_AVAILABLE, client_id="me")
    third = rules.fail("InitProducerId", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, nth=3, times=1)
    one, two = mock.client(1), mock.client(2)
    assert one.call(MetadataRequest(topics=None), 12).topics[0].error_code == 0
    assert two.call(MetadataRequest(topics=None), 12).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert one.call(FindCoordinatorRequest(key="g"), 3).error_code == 0
    assert one.call(FindCoordinatorRequest(key="g"), 3, client_id="me").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    answers = [one.call(InitProducerIdRequest(transactional_id=None), 4).error_code for _ in range(4)]
    assert answers == [0, 0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0]
    assert [fault.fired for fault in (by_broker, by_client, third)] == [1, 1, 1]
    assert third.seen == 3


def test_errors_reach_every_api(mock):
    mock.cluster.faults.fail(None, ErrorCode.UNKNOWN_SERVER_ERROR)
    client = mock.client()
    assert client.call(ApiVersionsRequest(), 2).error_code == -1
    offsets = ListOffsetsRequest.Topic(name="t", partitions=[ListOffsetsRequest.Topic.Partition(timestamp=-1)])
    assert client.call(ListOffsetsRequest(topics=[offsets]), 6).topics[0].partitions[0].error_code == -1
    assert client.call(DeleteTopicsRequest(topic_names=["t"]), 4).responses[0].error_code == -1
    assert client.call(OffsetFetchRequest(group_id="g", topics=None), 7).error_code == -1
    assert "t" in mock.cluster.topics


def test_an_error_for_a_topic_that_does_not_exist_yet(mock):
    mock.cluster.faults.fail("Metadata", ErrorCode.LEADER_NOT_AVAILABLE, topic="new", times=1)
    client = mock.client()
    asked = MetadataRequest(topics=[MetadataRequest.Topic(name="new")])
    assert client.call(asked, 12).topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert "new" not in mock.cluster.topics


def test_topics_are_recognised_by_id(mock):
    fault = mock.cluster.faults.fail("Fetch", ErrorCode.KAFKA_STORAGE_ERROR, topic="t")
    client = mock.client()
    assert fetched(client.call(fetch_request(topic_id=mock.topic_id("u")), 13)).error_code == 0
    assert fetched(client.call(fetch_request(topic_id=mock.topic_id("t")), 13)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert fault.fired == 1


def test_a_cleared_fault_strikes_no_more(mock):
    client = mock.client()
    fault = mock.cluster.faults.fail("Produce", ErrorCode.KAFKA_STORAGE_ERROR)
    other = mock.cluster.faults.fail("Metadata", ErrorCode.KAFKA_STORAGE_ERROR)
    fault.clear()
    assert code(client) == 0
    mock.cluster.faults.clear()
    assert client.call(MetadataRequest(topics=None), 12).topics[0].error_code == 0
    assert (fault.fired, other.fired) == (0, 0)


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_delay(mock, when, written):
    fault = mock.cluster.faults.delay("Produce", 2.0, when=when, times=1)
    client = mock.client()
    pending = client.send(produce_request(batch(b"v")), 9)
    behind = client.send(MetadataRequest(topics=[]), 12)
    mock.clock.advance(1.9)
    assert (pending.done, behind.done, mock.log("t").end) == (False, False, written)
    mock.clock.advance(0.1)
    assert (pending.done, behind.done, mock.log("t").end, fault.fired) == (True, True, 1, 1)


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_drop(mock, when, written):
    mock.cluster.faults.drop("Produce", when=when, times=1)
    client = mock.client()
    pending = client.send(produce_request(batch(b"v")), 9)
    behind = client.send(MetadataRequest(topics=[]), 12)
    mock.clock.advance(3600)
    assert (pending.done, behind.done, client.closed, mock.log("t").end) == (False, False, False, written)
    assert code(mock.client()) == 0


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_disconnect(mock, when, written):
    mock.cluster.faults.disconnect("Produce", when=when, times=1)
    client = mock.client()
    client.send(produce_request(batch(b"v")), 9)
    assert (client.closed, bytes(client.output), mock.log("t").end) == (True, b"", written)


@pytest.mark.parametrize("after_bytes", [0, 3, 4, 10, 1_000])
def test_cut(mock, after_bytes):
    mock.cluster.faults.cut("Metadata", after_bytes, times=1)
    whole, cut = mock.client(2), mock.client()
    cut.send(MetadataRequest(topics=None), 12)
    whole.send(MetadataRequest(topics=None), 12)
    assert bytes(cut.output) == bytes(whole.output)[:after_bytes]
    assert (cut.closed, whole.closed) == (True, False)


def test_corrupt_records(mock):
    client = mock.client()
    code(client)
    fault = mock.cluster.faults.corrupt(topic="t", times=1)
    with pytest.raises(CorruptRecordsError, match="checksum"):
        values_in(fetched(client.call(fetch_request(), 12)).records)
    assert values_in(fetched(client.call(fetch_request(), 12)).records) == [b"v"]
    assert fault.fired == 1


def test_throttle_and_several_faults_at_once(mock):
    mock.cluster.faults.throttle("Produce", 250)
    mock.cluster.faults.fail("Produce", ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    mock.cluster.faults.delay("Produce", 1.0)
    client = mock.client()
    pending = client.send(produce_request(batch(b"v")), 9)
    assert not pending.done
    mock.clock.advance(1)
    assert pending.result().throttle_time_ms == 250
    assert produced(pending.result()).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_unknown_apis_are_refused(mock):
    with pytest.raises(KeyError, match="Produced"):
        mock.cluster.faults.fail("Produced", ErrorCode.KAFKA_STORAGE_ERROR)


def test_faults_over_tcp():
    with MockCluster(1, topics={"t": 1}) as mock, TcpClient(mock.brokers[1]) as client, TcpClient(mock.brokers[1]) as other:
        late = mock.delay("Metadata", 0.01, times=1)
        hung = mock.drop("Produce", client_id="raw")
        assert client.call(MetadataRequest(topics=[]), 12).topics == []
        client.send(produce_request(batch(b"v")), 9)
        mock.journal.wait_for("Produce")
        assert produced(other.call(produce_request(batch(b"w")), 9, client_id="other")).error_code == 0
        mock.disconnect("Fetch")
        other.send(fetch_request(), 12)
        assert other.read() == b""
        assert (late.fired, hung.fired) == (1, 1)
        assert "Produce" in repr(hung)

"""Faults: the effect of each kind on answers and connections, alone and together."""

from __future__ import annotations

import sys
import threading

import pytest

from kafkawire.errors import CorruptRecordsError, DecodeError, ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker import MockCluster
from tests.mockbroker.raw import (
    MemoryMock,
    TcpClient,
    batch,
    fetch_request,
    fetched,
    produce_code,
    produce_request,
    produced,
    values_in,
)


@pytest.fixture
def mock():
    return MemoryMock(2, topics={"t": 2, "u": 1})


def test_an_error_a_number_of_times(mock):
    fault = mock.faults.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, topic="t", times=2)
    client = mock.client()
    assert [produce_code(client) for _ in range(3)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2 + [ErrorCode.NONE]
    assert fault.fired == 2
    assert not fault.active
    assert mock.log("t").log_end_offset == 1


def test_errors_reach_every_api(mock):
    mock.faults.fail(None, ErrorCode.UNKNOWN_SERVER_ERROR)
    client = mock.client()
    assert client.call(ApiVersionsRequest(), 2).error_code == -1
    offsets = ListOffsetsRequest.Topic(name="t", partitions=[ListOffsetsRequest.Topic.Partition(timestamp=-1)])
    assert client.call(ListOffsetsRequest(topics=[offsets]), 6).topics[0].partitions[0].error_code == -1
    assert client.call(DeleteTopicsRequest(topic_names=["t"]), 4).responses[0].error_code == -1
    assert client.call(OffsetFetchRequest(group_id="g", topics=None), 7).error_code == -1
    assert "t" in mock.cluster.topics


def test_an_error_for_a_topic_that_does_not_exist_yet(mock):
    mock.faults.fail("Metadata", ErrorCode.LEADER_NOT_AVAILABLE, topic="new", times=1)
    client = mock.client()
    asked = MetadataRequest(topics=[MetadataRequest.Topic(name="new")])
    assert client.call(asked, 12).topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert "new" not in mock.cluster.topics


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_delay(mock, when, written):
    fault = mock.faults.delay("Produce", 2.0, when=when, times=1)
    client = mock.client()
    pending = client.send(produce_request(batch(b"v")), 9)
    behind = client.send(MetadataRequest(topics=[]), 12)
    mock.clock.advance(1.9)
    assert (pending.done, behind.done, mock.log("t").log_end_offset) == (False, False, written)
    mock.clock.advance(0.1)
    assert (pending.done, behind.done, mock.log("t").log_end_offset, fault.fired) == (True, True, 1, 1)


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_drop(mock, when, written):
    mock.faults.drop("Produce", when=when, times=1)
    client = mock.client()
    pending = client.send(produce_request(batch(b"v")), 9)
    behind = client.send(MetadataRequest(topics=[]), 12)
    mock.clock.advance(3600)
    assert (pending.done, behind.done, client.closed, mock.log("t").log_end_offset) == (False, False, False, written)
    assert produce_code(mock.client()) == 0


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_disconnect(mock, when, written):
    mock.faults.disconnect("Produce", when=when, times=1)
    client = mock.client()
    client.send(produce_request(batch(b"v")), 9)
    assert (client.closed, bytes(client.output), mock.log("t").log_end_offset) == (True, b"", written)


@pytest.mark.parametrize("after_bytes", [0, 3, 4, 10, 1_000])
def test_cut(mock, after_bytes):
    mock.faults.cut("Metadata", after_bytes, times=1)
    whole, cut = mock.client(2), mock.client()
    cut.send(MetadataRequest(topics=None), 12)
    whole.send(MetadataRequest(topics=None), 12)
    assert bytes(cut.output) == bytes(whole.output)[:after_bytes]
    assert (cut.closed, whole.closed) == (True, False)


def test_corrupt_records(mock):
    client = mock.client()
    produce_code(client)
    fault = mock.faults.corrupt(topic="t", times=1)
    with pytest.raises(CorruptRecordsError, match="checksum"):
        values_in(fetched(client.call(fetch_request(), 12)).records)
    assert values_in(fetched(client.call(fetch_request(), 12)).records) == [b"v"]
    assert fault.fired == 1


def test_throttle_and_several_faults_at_once(mock):
    mock.faults.throttle("Produce", 250)
    mock.faults.fail("Produce", ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    mock.faults.delay("Produce", 1.0)
    client = mock.client()
    pending = client.send(produce_request(batch(b"v")), 9)
    assert not pending.done
    mock.clock.advance(1)
    assert pending.result().throttle_time_ms == 250
    assert produced(pending.result()).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_a_throttled_connection_is_mute_until_its_time_has_passed(mock):
    mock.faults.throttle("Produce", 250, times=1)
    client = mock.client()
    throttled = client.send(produce_request(batch(b"v")), 9)
    behind = client.send(MetadataRequest(topics=[]), 12)
    assert (throttled.result().throttle_time_ms, behind.done) == (250, False)
    mock.clock.advance(0.249)
    assert not behind.done
    mock.clock.advance(0.001)
    assert behind.done


def test_errors_for_several_topics_at_once(mock):
    mock.faults.fail("Metadata", ErrorCode.LEADER_NOT_AVAILABLE, topic="t")
    mock.faults.fail("Metadata", ErrorCode.KAFKA_STORAGE_ERROR, topic="u")
    answer = mock.client().call(MetadataRequest(topics=None), 12)
    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "t": ErrorCode.LEADER_NOT_AVAILABLE,
        "u": ErrorCode.KAFKA_STORAGE_ERROR,
    }


@pytest.mark.parametrize(("when", "written"), [("before", 0), ("after", 1)])
def test_held_requests_go_on_when_they_are_released(mock, when, written):
    barrier = mock.faults.hold("Produce", when=when)
    one, two, three = (mock.client() for _ in range(3))
    first, second = one.send(produce_request(batch(b"1")), 9), two.send(produce_request(batch(b"2")), 9)
    behind = one.send(MetadataRequest(topics=[]), 12)
    mock.clock.advance(3600)
    assert (first.done, second.done, behind.done, mock.log("t").log_end_offset) == (False, False, False, 2 * written)
    assert [exchange.client.connection for exchange in barrier.held] == [1, 2]
    barrier.release(1)
    mock.clock.advance()
    assert (first.done, behind.done, second.done) == (True, True, False)
    third = three.send(produce_request(batch(b"3")), 9)
    two.disconnect()
    assert [exchange.client.connection for exchange in barrier.held] == [3]
    barrier.release()
    mock.clock.advance()
    assert third.done
    assert produce_code(mock.client()) == 0
    assert (barrier.held, barrier.fired) == ([], 3)


def test_waits_come_one_after_the_other_and_then_silence(mock):
    rules = mock.faults
    rules.delay("Metadata", 1.0, when="before")
    barrier = rules.hold("Metadata")
    rules.delay("Metadata", 2.0)
    rules.disconnect("Metadata", when="after")
    client = mock.client()
    client.send(MetadataRequest(topics=[]), 12)
    assert barrier.held == []
    mock.clock.advance(1)
    assert len(barrier.held) == 1
    barrier.release()
    mock.clock.advance(1.9)
    assert not client.closed
    mock.clock.advance(0.1)
    assert (client.closed, client.output) == (True, b"")


def test_an_answer_in_pieces(mock):
    mock.faults.split("Metadata", 10, pause=0.5, broker=1, times=1)
    whole, split = mock.client(2), mock.client()
    whole.send(MetadataRequest(topics=None), 12)
    pending = split.send(MetadataRequest(topics=None), 12)
    behind = split.send(MetadataRequest(topics=[]), 12)
    for pieces in range(1, len(whole.output) // 10 + 1):
        assert split.output == whole.output[: 10 * pieces]
        mock.clock.advance(0.5)
    assert pending.result() == whole.call(MetadataRequest(topics=None), 12)
    assert behind.done


@pytest.mark.parametrize(("at", "found"), [(0, 0), (5, 5), (-1, -1), (10_000_000, None)])
def test_a_flipped_byte(mock, at, found):
    mock.faults.flip("ApiVersions", at)
    reference, _ = MemoryMock().answer(mock.client().frame(ApiVersionsRequest(), 0)[1])
    answer, _ = mock.answer(mock.client().frame(ApiVersionsRequest(), 0)[1])
    changed = [place for place, (a, b) in enumerate(zip(reference, answer, strict=True)) if a != b]
    assert changed == [at % len(reference) if found is None else found % len(reference)]


def test_a_wrong_correlation_id(mock):
    mock.faults.mismatch("ApiVersions", by=-3, times=1)
    client = mock.client()
    with pytest.raises(DecodeError, match="correlation id -3"):
        client.send(ApiVersionsRequest(), 2)


def test_damage_comes_before_the_cut(mock):
    mock.faults.cut("ApiVersions", 8)
    mock.faults.flip("ApiVersions", -1)
    mock.faults.mismatch("ApiVersions", by=256)
    output, closed = mock.answer(mock.client().frame(ApiVersionsRequest(), 0)[1])
    assert (output[4:], closed) == (bytes([0, 0, 1, 0]), True)


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


def test_barriers_over_tcp():
    with MockCluster(1, topics={"t": 1}) as mock, TcpClient(mock.brokers[1]) as client:
        with mock.hold("Produce", client_id="raw") as barrier:
            pending = client.send(produce_request(batch(b"v")), 9)
            barrier.wait_for(1)
            assert (len(barrier.held), mock.end_offset("t")) == (1, 0)
            with pytest.raises(
                AssertionError,
                match=r"within 0.01 s it fired 1 of 2 times: <Fault hold Produce, when=before, client_id=raw: fired 1>",
            ):
                barrier.wait_for(2, timeout=0.01)
        while not pending.done:
            client.take(client.read())
        assert mock.end_offset("t") == 1
        fault = mock.split("Metadata", 7)
        client.call(MetadataRequest(topics=None), 12)
        fault.wait_for(1)
        mock.check_faults()


def test_faults_are_made_and_cleared_from_many_threads_while_clients_meet_them():
    with MockCluster(1, topics={"t": 1}) as mock, TcpClient(mock.brokers[1]) as client:
        made = []

        def make():
            for _ in range(100):
                with mock.throttle("Metadata", 0) as fault:
                    made.append(fault)

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            client.call(MetadataRequest(topics=[]), 12)
        for thread in threads:
            thread.join()
        assert len(mock.faults.all()) == 400
        assert {fault.id for fault in made} == set(range(1, 401))
        assert sum(fault.seen for fault in made) == sum(fault.fired for fault in made)


def test_whoever_waits_at_a_barrier_finds_what_it_holds():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with MockCluster(1) as mock, TcpClient(mock.brokers[1]) as client:
            for number in range(300):
                with mock.hold("Metadata", when="after" if number % 2 else "before") as barrier:
                    pending = client.send(MetadataRequest(topics=[]), 12)
                    barrier.wait_for(1)
                    assert len(barrier.held) == 1
                while not pending.done:
                    client.take(client.read())
    finally:
        sys.setswitchinterval(interval)

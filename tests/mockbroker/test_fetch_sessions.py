"""Fetch sessions (KIP-227): what is told again and what is not, errors, eviction."""

from __future__ import annotations

import sys

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchRequest
from tests.mockbroker.raw import MemoryMock, batch, fetch_request, produce_request, values_in

MINUTE = 60


def ask(client, session_id, epoch, *partitions, offset=0, forget=(), version=12, max_wait_ms=0):
    """One request of a session."""
    request = fetch_request(offset, partitions=partitions, session_id=session_id, session_epoch=epoch, max_wait_ms=max_wait_ms)
    if not partitions:
        request.topics = []
    if forget:
        request.forgotten_topics_data = [FetchRequest.ForgottenTopic(topic="t", partitions=list(forget))]
    return client.call(request, version)


def told(response):
    """The partitions of an answer with their values."""
    assert response.error_code == 0
    return {answer.partition_index: values_in(answer.records) for topic in response.responses for answer in topic.partitions}


@pytest.fixture
def mock():
    mock = MemoryMock(topics={"t": 3})
    mock.client().call(produce_request(batch(b"a")), 9)
    return mock


@pytest.mark.parametrize("version", range(7, 13))
def test_only_what_has_changed_is_told_again(mock, version):
    client = mock.client()
    opened = ask(client, 0, 0, 0, 1, 2, offset=0, version=version)
    number = opened.session_id
    assert number > 0
    assert told(opened) == {0: [b"a"], 1: [], 2: []}
    assert told(ask(client, number, 1, 0, offset=1, version=version)) == {}
    client.call(produce_request(batch(b"b"), partition=1), 9)
    assert told(ask(client, number, 2, version=version)) == {1: [b"b"]}
    assert told(ask(client, number, 3, version=version)) == {1: [b"b"]}  # until the client moves on
    assert told(ask(client, number, 4, 1, offset=1, version=version)) == {}
    mock.cluster.partition("t", 0).log.delete_before(1)
    assert told(ask(client, number, 5, version=version)) == {0: []}  # the log starts elsewhere
    assert told(ask(client, number, 6, version=version)) == {}


def test_what_brought_records_last_comes_last(mock):
    client = mock.client()
    number = ask(client, 0, 0, 0, 1, 2, offset=0).session_id
    for partition in (0, 1, 2):
        client.call(produce_request(batch(b"b"), partition=partition), 9)
    assert list(told(ask(client, number, 1))) == [1, 2, 0]
    request = fetch_request(0, partitions=[], session_id=number, session_epoch=2, max_bytes=1)
    request.topics = []
    assert list(told(client.call(request, 12))) == [1]
    request.session_epoch = 3
    assert list(told(client.call(request, 12))) == [2]


def test_forgotten_and_added_partitions(mock):
    client = mock.client()
    number = ask(client, 0, 0, 0, 1).session_id
    assert told(ask(client, number, 1, 2, forget=[0])) == {2: []}
    client.call(produce_request(batch(b"b")), 9)
    assert told(ask(client, number, 2)) == {}
    assert told(ask(client, number, 3, 0)) == {0: [b"a", b"b"]}
    ended = ask(client, number, 4, forget=[0, 1, 2])
    assert (ended.error_code, ended.session_id) == (0, 0)
    assert ask(client, number, 5).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_waits_for_all_its_partitions(mock):
    client = mock.client()
    number = ask(client, 0, 0, 0, 1, offset=1).session_id  # 1 is beyond the end of partition 1: an error
    ask(client, number, 1, 1, offset=0)
    request = fetch_request(0, session_id=number, session_epoch=2, max_wait_ms=500)
    request.topics = []
    pending = client.send(request, 12)
    assert not pending.done
    mock.client().call(produce_request(batch(b"b"), partition=1), 9)
    assert told(pending.result()) == {1: [b"b"]}


def test_errors_are_told_every_time(mock):
    client = mock.client()
    number = ask(client, 0, 0, 0, 7, offset=1).session_id
    for epoch in (1, 2):
        ((answer,),) = [topic.partitions for topic in ask(client, number, epoch).responses]
        assert (answer.partition_index, answer.error_code) == (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    mock.cluster.add_partitions(mock.cluster.topic("t"), 8)
    assert told(ask(client, number, 3, 7, offset=0)) == {7: []}
    assert told(ask(client, number, 4)) == {}


def test_refused_sessions(mock):
    client = mock.client()
    number = ask(client, 0, 0, 0).session_id
    for session_id, epoch, error in [
        (number + 1, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (0, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (number, 2, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
    ]:
        refused = ask(client, session_id, epoch, 0)
        assert (ErrorCode.of(refused.error_code), refused.session_id, refused.responses) == (error, 0, [])
    assert ask(client, number, 1, version=13).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert ask(client, number, 1).error_code == 0


def test_a_full_request_ends_the_session_it_names(mock):
    client = mock.client()
    first = ask(client, 0, 0, 0).session_id
    second = ask(client, first, 0, 0).session_id
    assert ask(client, first, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ask(client, second, -1, 0).session_id == 0
    assert ask(client, second, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_sessions_are_a_brokers_own_and_end_with_it():
    mock = MemoryMock(2)
    mock.cluster.create_topic("t", 1, 2)
    number = ask(mock.client(), 0, 0, 0).session_id
    assert ask(mock.client(broker=2), number, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ask(mock.client(), number, 1).error_code == 0
    mock.server.stop_broker(1)
    mock.server.start_broker(1)
    assert ask(mock.client(), number, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_sessions_by_topic_id(mock):
    client = mock.client()
    opened = client.call(fetch_request(topic_id=mock.topic_id("t"), session_id=0, session_epoch=0), 18)
    request = fetch_request(session_id=opened.session_id, session_epoch=1)
    request.topics = []
    assert told(client.call(request, 18)) == {0: [b"a"]}
    mock.cluster.delete_topic("t")
    request.session_epoch = 2
    ((answer,),) = [topic.partitions for topic in client.call(request, 18).responses]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def full():
    """A cluster with room for two sessions, both taken: of one partition, and of two."""
    mock = MemoryMock(topics={"t": 3}, config={"max.incremental.fetch.session.cache.slots": "2"})
    client = mock.client()
    return mock, client, ask(client, 0, 0, 0).session_id, ask(client, 0, 0, 0, 1).session_id


def test_without_room_there_is_no_session():
    _, client, first, second = full()
    assert ask(client, 0, 0, 0, 1, 2).session_id == 0
    assert ask(client, first, 1).error_code == 0
    assert ask(client, second, 1).error_code == 0
    assert (
        ask(MemoryMock(topics={"t": 1}, config={"max.incremental.fetch.session.cache.slots": "0"}).client(), 0, 0, 0).session_id
        == 0
    )


def test_an_idle_session_makes_room():
    mock, client, first, second = full()
    mock.clock.advance(1.5 * MINUTE)
    ask(client, first, 1)
    mock.clock.advance(1 * MINUTE)
    assert ask(client, 0, 0, 0).session_id > second
    assert ask(client, second, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ask(client, first, 2).error_code == 0


def test_an_old_small_session_makes_room_for_a_larger_one():
    mock, client, first, second = full()
    mock.clock.advance(1.5 * MINUTE)
    ask(client, first, 1)
    ask(client, second, 1)
    mock.clock.advance(1 * MINUTE)
    ask(client, first, 2)
    ask(client, second, 2)
    assert ask(client, 0, 0, 0).session_id == 0  # no larger than the smallest
    assert ask(client, 0, 0, 0, 1).session_id > second
    assert ask(client, first, 3).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def calls_of_an_idle_fetch(partitions):
    """Number of Python function calls of the second fetch of a session without news."""
    mock = MemoryMock(topics={"t": partitions})
    client = mock.client()
    number = ask(client, 0, 0, *range(partitions)).session_id
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        answer = ask(client, number, 1)
    finally:
        sys.setprofile(None)
    assert told(answer) == {}
    return calls


def test_partitions_without_news_cost_nothing():
    assert calls_of_an_idle_fetch(1_000) == calls_of_an_idle_fetch(10)


@pytest.fixture
def resting():
    """Two brokers, and a client with a session of three partitions of which there is nothing to tell."""
    mock = MemoryMock(2)
    mock.cluster.create_topic("t", assignments=[[1, 2], [1, 2], [1, 2]])
    client = mock.client()
    number = ask(client, 0, 0, 0, 1, 2).session_id
    assert told(ask(client, number, 1)) == {}
    return mock, client, number


def errors(response):
    assert response.error_code == 0
    return {
        answer.partition_index: ErrorCode.of(answer.error_code) for topic in response.responses for answer in topic.partitions
    }


def test_a_partition_that_rests_moves(resting):
    mock, client, number = resting
    mock.cluster.move_leader("t", 1, 2)
    mock.cluster.replication.set_replicas(mock.cluster.partition("t", 2), [2])
    moved = errors(ask(client, number, 2))
    assert moved == {2: ErrorCode.NOT_LEADER_OR_FOLLOWER}  # of the other it is a follower now, and may be read from
    assert errors(ask(client, number, 3)) == moved
    mock.cluster.move_leader("t", 2, 1)
    assert errors(ask(client, number, 4)) == {2: 0}
    assert errors(ask(client, number, 5)) == {}


def test_the_topic_of_partitions_that_rest_is_created_anew(resting):
    mock, client, number = resting
    mock.cluster.delete_topic("t")
    unknown = dict.fromkeys(range(3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert errors(ask(client, number, 2)) == unknown
    assert errors(ask(client, number, 3)) == unknown
    mock.cluster.create_topic("t", assignments=[[1], [1], [1]])
    assert errors(ask(client, number, 4)) == {0: 0, 1: 0, 2: 0}
    client.call(produce_request(batch(b"b"), partition=2), 9)
    assert told(ask(client, number, 5)) == {2: [b"b"]}


def test_a_fault_strikes_a_partition_that_rests(resting):
    mock, client, number = resting
    mock.faults.fail("Fetch", ErrorCode.KAFKA_STORAGE_ERROR, times=1)
    assert set(errors(ask(client, number, 2)).values()) == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert errors(ask(client, number, 3)) == {0: 0, 1: 0, 2: 0}
    assert errors(ask(client, number, 4)) == {}


def test_a_fetch_waits_for_partitions_that_rest(resting):
    mock, client, number = resting
    request = fetch_request(0, partitions=[], session_id=number, session_epoch=2, max_wait_ms=10_000)
    request.topics = []
    waiting = client.send(request, 12)
    assert not waiting.done
    mock.client().call(produce_request(batch(b"b"), partition=1), 9)
    assert told(waiting.result()) == {1: [b"b"]}


def test_a_session_that_is_closed_leaves_nothing_at_the_logs(resting):
    mock, client, number = resting
    assert [len(mock.log("t", index).changed) for index in range(3)] == [1, 1, 1]
    assert told(ask(client, number, 2, forget=[0])) == {}
    assert [len(mock.log("t", index).changed) for index in range(3)] == [0, 1, 1]
    ask(client, number, -1)
    assert [len(mock.log("t", index).changed) for index in range(3)] == [0, 0, 0]

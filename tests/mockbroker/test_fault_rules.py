"""Rules of faults: which requests they select, how they count, and how they are described and checked."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker import MockCluster
from mockbroker.observe import fault_kinds
from mockbroker.observe.fault import FAULT_KINDS
from tests.mockbroker.raw import MemoryMock, fetch_request, fetched, produce_code


@pytest.fixture
def mock():
    return MemoryMock(2, topics={"t": 2, "u": 1})


def test_an_error_for_one_topic_or_partition_leaves_the_others_alone(mock):
    mock.faults.fail("Produce", ErrorCode.KAFKA_STORAGE_ERROR, topic="u")
    mock.faults.fail("Fetch", ErrorCode.KAFKA_STORAGE_ERROR, partition=1)
    client = mock.client()
    assert produce_code(client) == 0
    assert produce_code(client, topic="u") == ErrorCode.KAFKA_STORAGE_ERROR
    mock.cluster.move_leader("t", 1, 1)
    answers = client.call(fetch_request(partitions=[0, 1]), 12).responses[0].partitions
    assert [answer.error_code for answer in answers] == [0, ErrorCode.KAFKA_STORAGE_ERROR]


def test_selection_by_broker_client_and_number(mock):
    rules = mock.faults
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


def test_topics_are_recognised_by_id(mock):
    fault = mock.faults.fail("Fetch", ErrorCode.KAFKA_STORAGE_ERROR, topic="t")
    client = mock.client()
    assert fetched(client.call(fetch_request(topic_id=mock.topic_id("u")), 13)).error_code == 0
    assert fetched(client.call(fetch_request(topic_id=mock.topic_id("t")), 13)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert fault.fired == 1


def test_a_cleared_fault_fires_no_more(mock):
    client = mock.client()
    fault = mock.faults.fail("Produce", ErrorCode.KAFKA_STORAGE_ERROR)
    other = mock.faults.fail("Metadata", ErrorCode.KAFKA_STORAGE_ERROR)
    fault.clear()
    assert produce_code(client) == 0
    mock.faults.clear()
    assert client.call(MetadataRequest(topics=None), 12).topics[0].error_code == 0
    assert (fault.fired, other.fired) == (0, 0)


def test_selection_by_version_connection_partition_and_group(mock):
    rules = mock.faults
    by_version = rules.drop("Metadata", version=11)
    by_connection = rules.drop(None, connection=2)
    by_partition = rules.drop(["Produce", "Fetch"], partition=1)
    by_group = rules.drop(None, group="g")
    first, second = mock.client(), mock.client()
    assert first.send(MetadataRequest(topics=[]), 12).done
    assert not second.send(MetadataRequest(topics=[]), 12).done
    assert first.send(fetch_request(), 12).done
    assert first.send(OffsetFetchRequest(group_id="other", topics=None), 7).done
    assert first.send(FindCoordinatorRequest(coordinator_keys=["other"]), 4).done
    for message, version in [
        (MetadataRequest(topics=[]), 11),
        (fetch_request(partitions=[0, 1]), 12),
        (OffsetFetchRequest(group_id="g", topics=None), 7),
        (OffsetFetchRequest(groups=[OffsetFetchRequest.Group(group_id="g", topics=None)]), 8),
        (FindCoordinatorRequest(key="g"), 3),
        (FindCoordinatorRequest(coordinator_keys=["f", "g"]), 4),
    ]:
        assert not mock.client().send(message, version).done
    assert [fault.fired for fault in (by_version, by_connection, by_partition, by_group)] == [1, 1, 1, 4]


def test_probability_repeats_with_its_seed(mock):
    def fired_at(**seed):
        with mock.faults.throttle("Metadata", 1, probability=0.3, **seed) as fault:
            client = mock.client()
            answers = []
            for _ in range(200):
                answers.append(client.call(MetadataRequest(topics=[]), 12).throttle_time_ms)
                mock.clock.advance(1)
        assert fault.seen == 200
        assert fault.fired == sum(answers)
        return answers

    assert fired_at() == fired_at(seed=0) != fired_at(seed=1)
    assert 30 < sum(fired_at(seed=5)) < 90


def test_faults_that_never_fired_can_fail_the_test(mock):
    rules = mock.faults
    rules.check()
    rules.throttle("Metadata", 1)
    with rules.fail("Produce", ErrorCode.KAFKA_STORAGE_ERROR, topic="t", times=1):
        mock.client().call(MetadataRequest(topics=[]), 12)
    with pytest.raises(
        AssertionError,
        match=r"1 of 2 faults never fired: <Fault fail Produce, error=KAFKA_STORAGE_ERROR, topic=t, times=1: fired 0>",
    ):
        rules.check()
    assert produce_code(mock.client()) == 0
    rules.clear()
    rules.check()


DESCRIPTIONS: list[dict[str, Any]] = [
    {"action": "fail", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "t", "times": 2},
    {"action": "delay", "api": ["Produce", "Fetch"], "seconds": 1, "when": "before"},
    {"action": "hold", "api": "Fetch", "nth": 2},
    {"action": "drop", "api": None, "client_id": "x"},
    {"action": "disconnect", "broker": 1, "probability": 0.5, "seed": 3},
    {"action": "throttle", "api": "Fetch", "throttle_time_ms": 5},
    {"action": "corrupt", "api": "Fetch", "partition": 0},
    {"action": "mismatch", "api": "Fetch", "by": 2},
    {"action": "flip", "api": "Fetch", "at": 3, "connection": 1},
    {"action": "cut", "api": "Fetch", "after_bytes": 3, "version": 12},
    {"action": "split", "api": "Fetch", "size": 3, "pause": 0.5, "group": "g"},
]


@pytest.mark.parametrize("description", DESCRIPTIONS, ids=[str(one["action"]) for one in DESCRIPTIONS])
def test_faults_from_plain_values(mock, description):
    shown = mock.faults.make(description).to_dict()
    apis = description.get("api")
    assert {**shown, **description, "api": [apis] if isinstance(apis, str) else apis} == shown
    assert (shown["id"], shown["fired"], shown["active"]) == (1, 0, True)
    assert hasattr(MockCluster(1), description["action"])


def test_every_kind_can_be_described():
    kinds = {name for name, kind in FAULT_KINDS.items() if kind.__module__ == fault_kinds.__name__}
    assert {description["action"] for description in DESCRIPTIONS} == kinds


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ({}, "'action' is None; it has to be one of fail, delay"),
        ({"action": "explode"}, "'action' is 'explode'"),
        ({"action": "fail", "api": "Produce"}, "'fail' needs 'error'"),
        ({"action": "fail", "error": 3}, "'error' is 3; it has to be the name"),
        ({"action": "fail", "error": "WRONG"}, "'error' is 'WRONG'"),
        ({"action": "drop", "api": "Fech"}, "no API 'Fech'"),
        ({"action": "drop", "when": "never"}, "'when' is 'never'; it has to be 'before' or 'after'"),
        ({"action": "drop", "times": "2"}, "'times' is '2'; it has to be a whole number"),
        ({"action": "delay", "seconds": True}, "'seconds' is True; it has to be a number"),
        ({"action": "hold", "arrived": 1}, "'hold' takes no 'arrived'; it takes api, when, broker"),
    ],
)
def test_descriptions_that_cannot_be(mock, description, reason):
    with pytest.raises(ValueError, match=reason):
        mock.faults.make(description)
    assert mock.faults.all() == []


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda k: k.fail("Produced", ErrorCode.KAFKA_STORAGE_ERROR), ValueError, "no API 'Produced'"),
        (lambda k: k.fail(0, ErrorCode.KAFKA_STORAGE_ERROR), TypeError, "by its name"),
        (lambda k: k.drop(["Fetch", 3]), TypeError, "by its name"),
        (lambda k: k.fail("Produce", "NOT_LEADER_OR_FOLLOWER"), TypeError, "'error' is 'NOT_LEADER_OR_FOLLOWER'.*an ErrorCode"),
        (lambda k: k.fail("Produce", 6), TypeError, "an ErrorCode"),
        (lambda k: k.drop("Fetch", topci="t"), TypeError, r"drop\(\) takes no 'topci'; it takes when, broker"),
        (lambda k: k.drop("Fetch", times="2"), TypeError, "'times' is '2'; it has to be a whole number"),
        (lambda k: k.drop("Fetch", times=True), TypeError, "'times' is True"),
        (lambda k: k.drop("Fetch", times=0), ValueError, "'times' is 0; it has to be from 1"),
        (lambda k: k.drop("Fetch", nth=0), ValueError, "'nth' is 0"),
        (lambda k: k.drop("Fetch", probability=2), ValueError, "'probability' is 2; it has to be from 0 to 1"),
        (lambda k: k.drop("Fetch", topic=b"t"), TypeError, "'topic' is b't'; it has to be text"),
        (lambda k: k.drop("Fetch", partition=-1), ValueError, "'partition' is -1"),
        (lambda k: k.drop("Fetch", when="now"), TypeError, "'when' is 'now'; it has to be 'before' or 'after'"),
        (lambda k: k.delay("Fetch", "1"), TypeError, "'seconds' is '1'"),
        (lambda k: k.delay("Fetch", float("nan")), ValueError, "'seconds' is nan"),
        (lambda k: k.delay("Fetch", -1), ValueError, "'seconds' is -1"),
        (lambda k: k.delay("Fetch", 1e30), ValueError, "'seconds' is 1e"),
        (lambda k: k.throttle("Fetch", 1.5), TypeError, "'throttle_time_ms' is 1.5"),
        (lambda k: k.split("Fetch", 0), ValueError, "'size' is 0"),
        (lambda k: k.cut("Fetch", -1), ValueError, "'after_bytes' is -1"),
        (lambda k: k.corrupt("Produce"), ValueError, "applies to Fetch only"),
        (lambda k: k.hold("Fetch").wait_for(1, timeout=float("nan")), ValueError, "'timeout' is nan"),
        (lambda k: k.hold("Fetch").release("2"), TypeError, "'count' is '2'"),
    ],
)
def test_calls_that_cannot_be_are_refused(mock, call, error, reason):
    with pytest.raises(error, match=reason):
        call(mock.faults)


def test_corrupt_is_about_fetch_whether_that_is_said_or_not(mock):
    for fault in (
        mock.faults.corrupt("Fetch", topic="t"),
        mock.faults.corrupt(),
        mock.faults.corrupt(None),
    ):
        assert fault.to_dict()["api"] == ["Fetch"]

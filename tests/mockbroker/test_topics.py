"""CreateTopics and DeleteTopics, frame by frame."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest
from mockbroker.configs.definitions import known_configs
from tests.mockbroker.raw import MemoryMock

Creatable = CreateTopicsRequest.CreatableTopic


def topic(name="t", partitions=2, replicas=1, *, assignments=(), **configs):
    return Creatable(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[Creatable.CreatableReplicaAssignment(partition_index=p, broker_ids=list(ids)) for p, ids in assignments],
        configs=[Creatable.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def created(mock, *topics, version=7, **options):
    answers = mock.client().call(CreateTopicsRequest(topics=list(topics), **options), version).topics
    return [ErrorCode.of(answer.error_code) for answer in answers]


@pytest.mark.parametrize("version", range(8))
def test_create(version):
    mock = MemoryMock(3, version="3.9")
    request = CreateTopicsRequest(topics=[topic(replicas=2, max_message_bytes="1000")])
    (answer,) = mock.client().call(request, version).topics
    assert answer.error_code == 0
    assert answer.error_message == (None if version else "")
    found = mock.cluster.topic("t")
    assert [partition.replicas for partition in found.partitions] == [[1, 2], [2, 3]]
    assert found.config("max.message.bytes") == "1000"
    if version >= 5:
        assert (answer.num_partitions, answer.replication_factor) == (2, 2)
        sources = {config.name: (config.value, config.config_source) for config in answer.configs}
        assert set(sources) == set(known_configs((3, 9)).topic)
        assert (sources["max.message.bytes"], sources["retention.ms"]) == (("1000", 1), ("604800000", 5))
    if version >= 7:
        assert answer.topic_id == found.id


def test_defaults_and_assignments():
    mock = MemoryMock(5, config={"num.partitions": "4"})
    assigned = topic("u", -1, -1, assignments=[(1, [5, 4]), (0, [2, 3])])
    assert created(mock, topic(partitions=-1, replicas=-1), assigned) == [0, 0]
    assert [len(partition.replicas) for partition in mock.cluster.topic("t").partitions] == [3] * 4
    assert [(partition.replicas, partition.leader) for partition in mock.cluster.topic("u").partitions] == [
        ([2, 3], 2),
        ([5, 4], 5),
    ]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic("th.ere"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (topic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic(partitions=0), ErrorCode.INVALID_PARTITIONS),
        (topic(replicas=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(replicas=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(partitions=1, assignments=[(0, [1])]), ErrorCode.INVALID_REQUEST),
        (topic(partitions=-1, replicas=-1, assignments=[(1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(partitions=-1, replicas=-1, assignments=[(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(partitions=-1, replicas=-1, assignments=[(0, [9])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(no_such_config="1"), ErrorCode.INVALID_CONFIG),
        (topic(max_message_bytes="many"), ErrorCode.INVALID_CONFIG),
        (topic(cleanup_policy="keep"), ErrorCode.INVALID_CONFIG),
        (topic(preallocate="yes"), ErrorCode.INVALID_CONFIG),
        (topic(retention_ms=None), ErrorCode.INVALID_CONFIG),
    ],
)
def test_refusals_leave_the_others_alone(asked, error):
    mock = MemoryMock(3, topics={"th_ere": 1, "there": 1})
    assert created(mock, asked, topic("good")) == [error, ErrorCode.NONE]
    assert sorted(mock.cluster.topics) == ["good", "th_ere", "there"]


def test_one_name_twice_and_validation_only():
    mock = MemoryMock()
    assert created(mock, topic(), topic(partitions=3)) == [ErrorCode.INVALID_REQUEST]
    assert created(mock, topic(), validate_only=True) == [ErrorCode.NONE]
    assert mock.cluster.topics == {}


def test_before_kraft_only_the_controller_creates_and_deletes():
    mock = MemoryMock(2, version="2.8", topics={"t": 1})
    client = mock.client(broker=2)
    assert client.call(CreateTopicsRequest(topics=[topic("u")]), 4).topics[0].error_code == ErrorCode.NOT_CONTROLLER
    assert client.call(DeleteTopicsRequest(topic_names=["t"]), 4).responses[0].error_code == ErrorCode.NOT_CONTROLLER
    assert list(mock.cluster.topics) == ["t"]


@pytest.mark.parametrize("version", range(7))
def test_delete_by_name(version):
    mock = MemoryMock(topics={"t": 1, "u": 1}, version="3.9")
    states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in ("t", "x")]
    request = DeleteTopicsRequest(topics=states) if version >= 6 else DeleteTopicsRequest(topic_names=["t", "x"])
    answers = mock.client().call(request, version).responses
    assert [(answer.name, answer.error_code) for answer in answers] == [("t", 0), ("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert list(mock.cluster.topics) == ["u"]


def test_delete_by_id():
    mock = MemoryMock(topics={"t": 1})
    states = [DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id) for topic_id in (mock.topic_id("t"), b"?" * 16)]
    good, bad = mock.client().call(DeleteTopicsRequest(topics=states), 6).responses
    assert (good.name, good.error_code) == ("t", 0)
    assert (bad.name, bad.topic_id, bad.error_code) == (None, b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID)

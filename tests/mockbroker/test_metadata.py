"""Metadata, frame by frame: all, none or some topics, auto-creation, brokers and leaders."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.metadata import MetadataRequest
from tests.mockbroker.raw import MemoryMock


def asked(*names, **options):
    return MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in names], **options)


def names(response):
    return [topic.name for topic in response.topics]


@pytest.mark.parametrize("version", range(14))
def test_the_cluster_as_clients_see_it(version):
    mock = MemoryMock(3, topics={"t": 2})
    response = mock.client().call(asked("t"), version)
    assert [(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers] == [
        (n, f"broker-{n}", 9092, None) for n in (1, 2, 3)
    ]
    (topic,) = response.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, "t", False)
    partitions = [(one.partition_index, one.leader_id, one.replica_nodes, one.isr_nodes) for one in topic.partitions]
    assert partitions == [(0, 1, [1, 2, 3], [1, 2, 3]), (1, 2, [2, 3, 1], [2, 3, 1])]
    if version >= 1:
        assert response.controller_id == 1
    if version >= 2:
        assert response.cluster_id == mock.cluster.cluster_id
    if version >= 7:
        assert {one.leader_epoch for one in topic.partitions} == {0}
    if version >= 10:
        assert topic.topic_id == mock.topic_id("t")


def test_trap_19_null_and_empty_topics():
    client = MemoryMock(topics={"t": 1, "u": 1}).client()
    assert names(client.call(MetadataRequest(topics=[]), 0)) == ["t", "u"]
    for version in (1, 9, 13):
        assert names(client.call(MetadataRequest(topics=[]), version)) == []
        assert names(client.call(MetadataRequest(topics=None), version)) == ["t", "u"]


@pytest.mark.parametrize(
    ("release", "version", "first_error"),
    [
        ("0.8.2", 0, ErrorCode.LEADER_NOT_AVAILABLE),
        ("2.8", 4, ErrorCode.LEADER_NOT_AVAILABLE),
        ("4.3", 13, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_missing_topics_are_created_when_asked(release, version, first_error):
    mock = MemoryMock(version=release, config={"num.partitions": "2"})
    client = mock.client()
    assert client.call(asked("new"), version).topics[0].error_code == first_error
    (topic,) = client.call(asked("new"), version).topics
    assert (topic.error_code, len(topic.partitions)) == (0, 2)


def test_missing_topics_are_not_created_when_not_allowed():
    mock = MemoryMock()
    client = mock.client()
    response = client.call(asked("new", allow_auto_topic_creation=False), 12)
    assert (response.topics[0].error_code, response.topics[0].partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    mock.cluster.config["auto.create.topics.enable"] = "false"
    assert client.call(asked("new"), 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert mock.cluster.topics == {}
    assert MemoryMock().client().call(asked("a b"), 12).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_topics_by_id():
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    by_id = [MetadataRequest.Topic(topic_id=topic_id, name=None) for topic_id in (mock.topic_id("t"), b"?" * 16)]
    known, unknown = client.call(MetadataRequest(topics=by_id), 12).topics
    assert (known.error_code, known.name) == (0, "t")
    assert (unknown.error_code, unknown.name, unknown.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, b"?" * 16)


def test_stopped_brokers_and_partitions_without_leader():
    mock = MemoryMock(3)
    mock.cluster.create_topic("one", 3, 1)
    mock.cluster.create_topic("all", 3)
    mock.server.stop_broker(1)
    client = mock.client(broker=2)
    response = client.call(asked("one", "all"), 12)
    assert [broker.node_id for broker in response.brokers] == [2, 3]
    assert response.controller_id == 2
    one, everywhere = response.topics
    assert [(p.error_code, p.leader_id) for p in one.partitions] == [(ErrorCode.LEADER_NOT_AVAILABLE, -1), (0, 2), (0, 3)]
    assert [(p.leader_id, p.leader_epoch, p.isr_nodes, p.offline_replicas) for p in everywhere.partitions] == [
        (2, 1, [2, 3], [1]),
        (2, 0, [2, 3], [1]),
        (3, 0, [3, 2], [1]),
    ]
    mock.server.start_broker(1)
    one, everywhere = client.call(asked("one", "all"), 12).topics
    assert [(p.leader_id, p.leader_epoch) for p in one.partitions] == [(1, 2), (2, 0), (3, 0)]
    assert [p.leader_id for p in everywhere.partitions] == [2, 2, 3]  # what moved away stays, until somebody moves it back


def test_a_stopped_broker_refuses_and_cuts():
    mock = MemoryMock(2)
    client = mock.client()
    mock.server.stop_broker(1)
    assert client.closed
    assert mock.client().refused
    mock.server.start_broker(1)
    assert not mock.client().refused


def test_a_topic_that_is_created_anew_has_a_new_id():
    mock = MemoryMock(topics={"t": 1})
    old = mock.topic_id("t")
    mock.cluster.delete_topic("t")
    mock.cluster.create_topic("t", 1)
    assert mock.topic_id("t") != old

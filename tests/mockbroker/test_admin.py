"""Requests of administrators, frame by frame: records deleted, partitions added and moved, elections, what is described."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkawire.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkawire.protocol.messages.delete_records import DeleteRecordsRequest
from kafkawire.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkawire.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkawire.protocol.messages.describe_producers import DescribeProducersRequest
from kafkawire.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafkawire.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkawire.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from tests.mockbroker.raw import MemoryMock, batch, fetch_request, fetched, produce_request, values_in


def filled():
    """Five records in three batches."""
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    for data in (batch(b"a", b"b"), batch(b"c"), batch(b"d", b"e")):
        client.call(produce_request(data), 9)
    return mock, client


def delete(client, offset, *, topic="t", partition=0, version=2):
    wanted = DeleteRecordsRequest.Topic.Partition(partition_index=partition, offset=offset)
    asked = DeleteRecordsRequest.Topic(name=topic, partitions=[wanted])
    ((answer,),) = [each.partitions for each in client.call(DeleteRecordsRequest(topics=[asked]), version).topics]
    return ErrorCode.of(answer.error_code), answer.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_deleted_records(version):
    mock, client = filled()
    assert delete(client, 1, version=version) == (0, 1)
    assert fetched(client.call(fetch_request(0), 12)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    answer = fetched(client.call(fetch_request(1), 12))
    assert (values_in(answer.records)[:2], answer.log_start_offset) == ([b"a", b"b"], 1)  # whole batches, as ever
    assert delete(client, 3, version=version) == (0, 3)
    assert delete(client, 2, version=version) == (0, 3)
    assert mock.log("t").size == len(batch(b"d", b"e"))
    assert delete(client, -1, version=version) == (0, 5)
    assert (mock.log("t").size, mock.log("t").log_end_offset) == (0, 5)
    client.call(produce_request(batch(b"f")), 9)
    assert values_in(fetched(client.call(fetch_request(5), 12)).records) == [b"f"]


def test_records_that_cannot_be_deleted():
    mock, client = filled()
    mock.cluster.create_topic("compacted", 1, configs={"cleanup.policy": "compact"})
    assert delete(client, 6) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, 0, partition=1) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(client, 0, topic="x") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(client, 0, topic="compacted") == (ErrorCode.POLICY_VIOLATION, -1)


def add(mock, count, assignments=None, *, topic="t", version=3, **options):
    asked = CreatePartitionsRequest.Topic(name=topic, count=count, assignments=None)
    if assignments is not None:
        asked.assignments = [CreatePartitionsRequest.Topic.Assignment(broker_ids=ids) for ids in assignments]
    (answer,) = mock.client().call(CreatePartitionsRequest(topics=[asked], **options), version).results
    return ErrorCode.of(answer.error_code)


@pytest.mark.parametrize("version", range(4))
def test_added_partitions(version):
    mock = MemoryMock(3, version="3.9")
    mock.cluster.create_topic("t", 1, 2)
    assert add(mock, 3, version=version, validate_only=True) == 0
    assert len(mock.cluster.topic("t").partitions) == 1
    assert add(mock, 3, version=version) == 0
    assert add(mock, 4, [[3, 1]], version=version) == 0
    partitions = mock.cluster.topic("t").partitions
    assert [(partition.leader, partition.replicas) for partition in partitions] == [
        (1, [1, 2]), (2, [2, 3]), (3, [3, 1]), (3, [3, 1]),
    ]  # fmt: skip
    mock.client(broker=2).call(produce_request(batch(b"a"), partition=1), 9)
    assert mock.log("t", 1).log_end_offset == 1


@pytest.mark.parametrize(
    ("count", "assignments", "error"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (-1, None, ErrorCode.INVALID_PARTITIONS),
        (4, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),  # the others have one replica
    ],
)
def test_partitions_that_cannot_be_added(count, assignments, error):
    mock = MemoryMock(2)
    mock.cluster.create_topic("t", 2, 1)
    assert add(mock, count, assignments) == error
    assert add(mock, 3, topic="x") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(mock.cluster.topic("t").partitions) == 2


def elect(client, partitions, election_type=0, version=2):
    asked = None
    if partitions is not None:
        asked = [ElectLeadersRequest.TopicPartitions(topic="t", partitions=partitions)]
    response = client.call(ElectLeadersRequest(election_type=election_type, topic_partitions=asked), version)
    return {
        (result.topic, answer.partition_id): ErrorCode.of(answer.error_code)
        for result in response.replica_election_results
        for answer in result.partition_result
    }


def test_preferred_replicas_are_elected():
    mock = MemoryMock(3, topics={"t": 3})
    mock.server.stop_broker(1)
    client = mock.client(broker=2)
    assert elect(client, [0, 1]) == {
        ("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ("t", 1): ErrorCode.ELECTION_NOT_NEEDED,
    }
    mock.server.start_broker(1)
    assert mock.cluster.partition("t", 0).leader == 2
    assert elect(client, [0, 9]) == {("t", 0): ErrorCode.NONE, ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert (mock.cluster.partition("t", 0).leader, mock.cluster.partition("t", 0).leader_epoch) == (1, 2)
    mock.cluster.move_leader("t", 2, 1)
    assert elect(client, None) == {("t", 2): ErrorCode.NONE}  # all that need it


def test_unclean_elections():
    mock = MemoryMock(2)
    mock.cluster.create_topic("t", 1, 2)
    mock.cluster.move_leader("t", 0, -1)
    assert elect(mock.client(), [0], election_type=1) == {("t", 0): ErrorCode.NONE}
    assert elect(mock.client(), [0], election_type=1) == {("t", 0): ErrorCode.ELECTION_NOT_NEEDED}
    assert elect(mock.client(), [0], election_type=2) == {("t", 0): ErrorCode.INVALID_REQUEST}


def reassignments(client, topics=None):
    """Reassignments in progress by topic: partition, replicas, replicas to add and to remove."""
    listed = client.call(ListPartitionReassignmentsRequest(topics=topics), 0)
    assert listed.error_code == 0
    return {
        topic.name: [
            (one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas) for one in topic.partitions
        ]
        for topic in listed.topics
    }


def placed(client):
    """Leader, replicas and those in sync of the first partition."""
    (topic,) = client.call(MetadataRequest(topics=[MetadataRequest.Topic(name="t")]), 12).topics
    one = topic.partitions[0]
    return one.leader_id, one.replica_nodes, one.isr_nodes


@pytest.fixture
def moving():
    """A partition of brokers 1 and 2 that will be on brokers 3 and 2 in a minute."""
    mock = MemoryMock(3, reassignment_seconds=60)
    mock.cluster.create_topic("t", assignments=[[1, 2], [2, 1]])
    assert reassign(mock.client(), [3, 2]) == 0
    return mock


def test_a_reassignment_takes_its_time(moving):
    client = moving.client()
    going_on = [(0, [3, 2, 1], [3], [1])]
    assert reassignments(client) == {"t": going_on}
    assert placed(client) == (1, [3, 2, 1], [2, 1])
    asked = ListPartitionReassignmentsRequest.Topics
    assert reassignments(client, [asked(name="t", partition_indexes=[0, 7])]) == {"t": going_on}
    assert reassignments(client, [asked(name="t", partition_indexes=[1]), asked(name="x", partition_indexes=[0])]) == {}
    moving.clock.advance(59)
    assert placed(client) == (1, [3, 2, 1], [2, 1])
    moving.clock.advance(1)
    assert placed(client) == (3, [3, 2], [3, 2])
    assert reassignments(client) == {}


def test_a_reassignment_is_cancelled(moving):
    client = moving.client()
    assert reassign(client, None) == 0
    assert placed(client) == (1, [1, 2], [1, 2])
    moving.clock.advance(60)
    assert placed(client) == (1, [1, 2], [1, 2])
    assert reassign(client, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_reassignment_gives_way_to_another(moving):
    client = moving.client()
    moving.clock.advance(30)
    assert reassign(client, [3, 2, 1]) == 0
    assert reassignments(client) == {"t": [(0, [3, 2, 1], [3], [])]}
    moving.clock.advance(59)
    assert placed(client) == (1, [3, 2, 1], [2, 1])
    moving.clock.advance(1)
    assert placed(client)[2] == [3, 2, 1]
    assert reassign(client, [2, 1]) == 0  # nothing to copy
    assert placed(client) == (1, [2, 1], [2, 1])


def test_who_is_not_in_sync_yet_does_not_lead(moving):
    client = moving.client(3)
    moving.server.stop_broker(1)
    assert placed(client) == (2, [3, 2, 1], [2])
    moving.server.stop_broker(2)
    assert placed(client)[0] == -1
    moving.clock.advance(60)
    assert placed(client) == (3, [3, 2], [3])


def test_a_topic_that_is_deleted_meanwhile_stays_so(moving):
    moving.cluster.delete_topic("t")
    moving.clock.advance(60)
    assert reassignments(moving.client()) == {}


def reassign(client, replicas, *, topic="t", partition=0, version=1, **options):
    asked = AlterPartitionReassignmentsRequest.ReassignableTopic
    wanted = asked.ReassignablePartition(partition_index=partition, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(topics=[asked(name=topic, partitions=[wanted])], **options)
    ((answer,),) = [each.partitions for each in client.call(request, version).responses]
    return ErrorCode.of(answer.error_code)


def test_partitions_move_at_once():
    mock = MemoryMock(3)
    mock.cluster.create_topic("t", assignments=[[1, 2]])
    client = mock.client()
    partition = mock.cluster.partition("t", 0)
    assert reassign(client, [2, 1], version=0) == 0
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ([2, 1], 1, 0)  # 1 may stay
    assert reassign(client, [3, 2]) == 0
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ([3, 2], 3, 1)
    listed = client.call(ListPartitionReassignmentsRequest(), 0)
    assert (listed.error_code, listed.topics) == (0, [])
    assert reassign(client, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert reassign(client, []) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(client, [9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(client, [1], allow_replication_factor_change=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert reassign(client, [1], partition=1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert reassign(client, [1], topic="x") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert reassign(client, [1]) == 0


def test_described_cluster():
    mock = MemoryMock(3, racks=["a", "b"])
    mock.server.stop_broker(1)
    client = mock.client(broker=2)
    for version in range(3):
        response = client.call(DescribeClusterRequest(), version)
        assert [(broker.broker_id, broker.port, broker.rack) for broker in response.brokers] == [(2, 9092, "b"), (3, 9092, "a")]
        assert (response.cluster_id, response.controller_id) == (mock.cluster.cluster_id, 2)
    response = client.call(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert [(broker.broker_id, broker.is_fenced) for broker in response.brokers] == [(1, True), (2, False), (3, False)]
    assert client.call(DescribeClusterRequest(endpoint_type=2), 1).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_topics_in_pages():
    mock = MemoryMock(topics={"b": 3, "a": 2})
    client = mock.client()
    cursor: Any = None
    pages: list[list[Any]] = []
    while not pages or cursor is not None:
        response = client.call(DescribeTopicPartitionsRequest(response_partition_limit=2, cursor=cursor), 0)
        pages.append([(topic.name, [one.partition_index for one in topic.partitions]) for topic in response.topics])
        cursor = None
        if response.next_cursor is not None:
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
            )
    assert pages == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2])]]
    (topic,) = client.call(
        DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.TopicRequest(name="x")]), 0
    ).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_log_directories():
    mock, client = filled()
    mock.cluster.add_broker()
    for version in range(1, 5):
        (directory,) = client.call(DescribeLogDirsRequest(topics=None), version).results
        ((one,),) = [topic.partitions for topic in directory.topics]
        assert (directory.error_code, one.partition_size, one.offset_lag) == (0, mock.log("t").size, 0)
    asked = DescribeLogDirsRequest.DescribableLogDirTopic(topic="t", partitions=[7])
    assert client.call(DescribeLogDirsRequest(topics=[asked]), 4).results[0].topics == []


def test_described_producers():
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    data = batch(b"a", b"b", timestamp=1000, producer_id=7, producer_epoch=2, base_sequence=5)
    client.call(produce_request(data), 9)
    asked = DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0, 1])
    known, unknown = client.call(DescribeProducersRequest(topics=[asked]), 0).topics[0].partitions
    (state,) = known.active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp) == (7, 2, 6, 1001)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_brokers_come_and_go():
    mock = MemoryMock(2, topics={"t": 2})
    added = mock.cluster.add_broker()
    assert added.id == 3
    mock.cluster.remove_broker(1)
    assert [(one.leader, one.replicas) for one in mock.cluster.topic("t").partitions] == [(2, [2, 3]), (2, [2, 3])]
    mock.cluster.remove_broker(3)
    assert [(one.leader, one.replicas) for one in mock.cluster.topic("t").partitions] == [(2, [2]), (2, [2])]
    with pytest.raises(ValueError, match="last"):
        mock.cluster.remove_broker(2)


@pytest.mark.parametrize(("release", "replicas"), [("4.3", [2, 3, 1]), ("2.8", None)])
def test_replicas_on_stopped_brokers(release, replicas):
    """A controller of KRaft counts on them to come back."""
    mock = MemoryMock(3, version=release)
    mock.server.stop_broker(1)
    if replicas is None:
        with pytest.raises(BrokerError, match="only 2 broker"):
            mock.cluster.create_topic("t", 1, 3)
    else:
        assert mock.cluster.create_topic("t", 1, 3).partitions[0].replicas == replicas
        assert mock.cluster.partition("t", 0).leader == 2

"""DescribeTopicPartitions 0: topics in the order of their names, a page of partitions at a time (KIP-966)."""

from __future__ import annotations

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from mockbroker.broker.answers import Answer
from mockbroker.broker.authorized import TOPIC_OPERATIONS
from mockbroker.broker.context import RequestContext
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics import NO_LEADER, Partition, check_topic_name

__all__ = ["handle"]


_TopicAnswer = DescribeTopicPartitionsResponse.Topic
_Cursor = DescribeTopicPartitionsResponse.Cursor


def handle(context: RequestContext, request: DescribeTopicPartitionsRequest, now: float) -> Answer:
    cursor = request.cursor
    names = sorted({topic.name for topic in request.topics})
    if cursor is not None and ((names and cursor.topic_name not in names) or cursor.partition_index < 0):
        refused = [_TopicAnswer(name=name, error_code=ErrorCode.INVALID_REQUEST) for name in names]
        return DescribeTopicPartitionsResponse(topics=refused)
    limit = int(context.cluster.config["max.request.partition.size.limit"])
    left = max(min(limit, request.response_partition_limit), 1)
    response = DescribeTopicPartitionsResponse()
    for name in names or sorted(context.cluster.topics):
        if cursor is not None and name < cursor.topic_name:
            continue
        start = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if left == 0:
            response.next_cursor = _Cursor(topic_name=name, partition_index=start)
            break
        topic = context.cluster.find_topic(name)
        error = context.injected_error(name) or (topic if isinstance(topic, ErrorCode) else None)
        answer = _TopicAnswer(name=name, topic_authorized_operations=TOPIC_OPERATIONS)
        response.topics.append(answer)
        if error is not None or isinstance(topic, ErrorCode):
            answer.error_code = _bad_name(name) or error or ErrorCode.NONE
            continue
        answer.topic_id, answer.is_internal = topic.id, topic.internal
        answer.partitions = [_partition(context.cluster, each) for each in topic.partitions[start : start + left]]
        left -= len(answer.partitions)
        if start + len(answer.partitions) < len(topic.partitions):
            response.next_cursor = _Cursor(topic_name=name, partition_index=start + len(answer.partitions))
            break
    return response


def _bad_name(name: str) -> ErrorCode | None:
    try:
        check_topic_name(name)
    except BrokerError as refusal:
        return refusal.error
    return None


def _partition(cluster: Cluster, partition: Partition) -> _TopicAnswer.Partition:
    return _TopicAnswer.Partition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=cluster.replication.in_sync_replicas(partition),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=cluster.replication.offline_replicas(partition),
    )

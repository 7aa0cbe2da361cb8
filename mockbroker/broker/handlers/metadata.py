"""Metadata 0-13: the online brokers, the controller, and topics by name, by id or all, with their partitions.

A missing topic is created if the request and `auto.create.topics.enable` allow it. As with Kafka the first response has an
error that makes the client ask again: UNKNOWN_TOPIC_OR_PARTITION under KRaft, LEADER_NOT_AVAILABLE under ZooKeeper. A fault
with REBOOTSTRAP_REQUIRED makes it the error of the whole response (KIP-1102).
"""

from __future__ import annotations

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.authorized import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from mockbroker.broker.context import RequestContext
from mockbroker.state.cluster import Cluster
from mockbroker.state.internal_topics import INTERNAL_TOPICS
from mockbroker.state.topics import NO_LEADER, Partition, Topic, check_topic_name

__all__ = ["handle"]


_TopicAnswer = MetadataResponse.Topic
_NOT_REQUESTED = -(2**31)


def handle(context: RequestContext, request: MetadataRequest, now: float) -> Answer:
    if context.version >= 13 and context.injected is not None and context.injected.error is ErrorCode.REBOOTSTRAP_REQUIRED:
        return MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    cluster = context.cluster
    controller = cluster.brokers.controller
    wants_all = request.topics is None or (not request.topics and context.version == 0)  # trap 19
    if wants_all:
        topics = [_present(context, topic) for topic in cluster.topics.values()]
    else:
        asked = {(topic.name, topic.topic_id): topic for topic in request.topics or ()}
        topics = [_asked(context, request, topic) for topic in asked.values()]
    if request.include_topic_authorized_operations:
        for answer in topics:
            if not answer.error_code:
                answer.topic_authorized_operations = TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[
            MetadataResponse.Broker(node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack)
            for broker in cluster.brokers.online()
        ],
        cluster_id=cluster.cluster_id,
        controller_id=-1 if controller is None else controller.id,
        topics=topics,
        cluster_authorized_operations=(CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else _NOT_REQUESTED),
    )


def _asked(context: RequestContext, request: MetadataRequest, asked: MetadataRequest.Topic) -> _TopicAnswer:
    topic = context.cluster.find_topic(asked.name, asked.topic_id)
    if isinstance(topic, Topic):
        return _present(context, topic)
    error = context.injected_error(asked.name or "")
    if error is not None:
        topic = error
    elif asked.name is not None and (illegal := _illegal(asked.name)):
        topic = illegal
    elif asked.name and request.allow_auto_topic_creation and context.cluster.config["auto.create.topics.enable"] == "true":
        topic = _create(context.cluster, asked.name)
    return _TopicAnswer(error_code=topic, name=asked.name, topic_id=asked.topic_id, is_internal=asked.name in INTERNAL_TOPICS)


def _illegal(name: str) -> ErrorCode | None:
    try:
        check_topic_name(name)
    except BrokerError as refusal:
        return refusal.error
    return None


def _create(cluster: Cluster, name: str) -> ErrorCode:
    """Create a topic and return the error to answer."""
    try:
        cluster.auto_create_topic(name)
    except BrokerError as refusal:
        return refusal.error
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if cluster.profile.kraft else ErrorCode.LEADER_NOT_AVAILABLE


def _present(context: RequestContext, topic: Topic) -> _TopicAnswer:
    error = context.injected_error(topic.name)
    if error is not None:
        return _TopicAnswer(error_code=error, name=topic.name, topic_id=topic.id)
    return _TopicAnswer(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.internal,
        partitions=[_partition(context.cluster, partition) for partition in topic.partitions],
    )


def _partition(cluster: Cluster, partition: Partition) -> _TopicAnswer.Partition:
    return _TopicAnswer.Partition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=cluster.replication.in_sync_replicas(partition),
        offline_replicas=cluster.replication.offline_replicas(partition),
    )

"""Metadata 0-13: the brokers that are online, the controller, and topics by name, by id or all, with their partitions.

A missing topic is created where the request and `auto.create.topics.enable` allow it; as with Kafka the first answer is an
error that makes the client ask again: UNKNOWN_TOPIC_OR_PARTITION under KRaft, LEADER_NOT_AVAILABLE under ZooKeeper.

Left out: authorized operations (answered as not requested).
"""

from __future__ import annotations

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker.call import Answer, Call
from mockbroker.cluster import NO_LEADER, Cluster, Partition, Topic

__all__ = ["REQUEST", "handle"]

REQUEST = MetadataRequest

_TopicAnswer = MetadataResponse.Topic


def handle(call: Call, request: MetadataRequest, now: float) -> Answer:
    cluster = call.cluster
    controller = cluster.controller
    wants_all = request.topics is None or (not request.topics and call.version == 0)  # trap 19
    if wants_all:
        topics = [_present(call, topic) for topic in cluster.topics.values()]
    else:
        topics = [_asked(call, request, topic) for topic in request.topics or ()]
    return MetadataResponse(
        brokers=[
            MetadataResponse.Broker(node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack)
            for broker in cluster.online_brokers()
        ],
        cluster_id=cluster.cluster_id,
        controller_id=-1 if controller is None else controller.id,
        topics=topics,
    )


def _asked(call: Call, request: MetadataRequest, asked: MetadataRequest.Topic) -> _TopicAnswer:
    topic = call.cluster.find_topic(asked.name, asked.topic_id)
    if isinstance(topic, Topic):
        return _present(call, topic)
    error = call.injected_error(asked.name or "")
    if error is not None:
        topic = error
    elif asked.name and request.allow_auto_topic_creation and call.cluster.config["auto.create.topics.enable"] == "true":
        topic = _create(call.cluster, asked.name)
    return _TopicAnswer(error_code=topic, name=asked.name, topic_id=asked.topic_id)


def _create(cluster: Cluster, name: str) -> ErrorCode:
    """Create a topic and return the error to answer."""
    try:
        cluster.create_topic(name)
    except BrokerError as refusal:
        return refusal.error
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if cluster.profile.kraft else ErrorCode.LEADER_NOT_AVAILABLE


def _present(call: Call, topic: Topic) -> _TopicAnswer:
    error = call.injected_error(topic.name)
    if error is not None:
        return _TopicAnswer(error_code=error, name=topic.name, topic_id=topic.id)
    return _TopicAnswer(
        name=topic.name,
        topic_id=topic.id,
        partitions=[_partition(call.cluster, partition) for partition in topic.partitions],
    )


def _partition(cluster: Cluster, partition: Partition) -> _TopicAnswer.Partition:
    return _TopicAnswer.Partition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=cluster.in_sync_replicas(partition),
        offline_replicas=[replica for replica in partition.replicas if not cluster.brokers[replica].online],
    )

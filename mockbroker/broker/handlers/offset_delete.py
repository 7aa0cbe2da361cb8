"""OffsetDelete 0: delete committed offsets of topics that the group does not consume (KIP-496)."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.groups.group import Group

__all__ = ["handle"]


_Topic = OffsetDeleteResponse.Topic


def handle(context: RequestContext, request: OffsetDeleteRequest, now: float) -> Answer:
    found = _find(context, request.group_id)
    if isinstance(found, ErrorCode):
        return OffsetDeleteResponse(error_code=found)
    return OffsetDeleteResponse(
        error_code=ErrorCode.NONE,
        topics=[
            _Topic(
                name=topic.name,
                partitions=[
                    _Topic.Partition(
                        partition_index=index, error_code=_delete(context, found, TopicPartition(topic.name, index))
                    )
                    for index in (partition.partition_index for partition in topic.partitions)
                ],
            )
            for topic in request.topics
        ],
    )


def _find(context: RequestContext, group_id: str) -> Group | ErrorCode:
    """Find the group, or the error if its offsets cannot be deleted."""
    error = context.group_error(group_id) if group_id else ErrorCode.INVALID_GROUP_ID
    if error is not None:
        return error
    group = context.groups.find(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return group.check_offset_delete() or group


def _delete(context: RequestContext, group: Group, partition: TopicPartition) -> ErrorCode:
    topic = context.cluster.topics.get(partition.topic)
    if topic is None or not 0 <= partition.partition < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if group.is_subscribed(partition.topic):
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    context.groups.offsets.delete(group.id, partition)
    return ErrorCode.NONE

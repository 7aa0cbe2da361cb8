"""OffsetCommit 0-10: commit offsets of a group, from its members and from clients without membership (generation -1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from kafkawire.errors import ErrorCode
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.groups.group import Group
from mockbroker.groups.offsets import CommittedOffset
from mockbroker.state.topics import Topic

__all__ = ["handle"]


_Position = OffsetCommitRequest.Topic.Partition
_PartitionAnswer = OffsetCommitResponse.Topic.Partition

_RETENTION = range(2, 5)
"""Versions of the API in which a commit says how long it lasts."""

_GROUP_NOT_FOUND = 9
"""Version of the API that tells a missing group from an old generation."""


def handle(context: RequestContext, request: OffsetCommitRequest, now: float) -> Answer:
    group = cache(
        partial(_find, context, request, now)
    )  # as in Kafka, partitions that do not exist have no effect on the group
    expires_at = now + request.retention_time_ms / 1000 if _limited(context, request) else None
    response = OffsetCommitResponse()
    for asked in request.topics:
        topic = context.cluster.find_topic(asked.name, asked.topic_id)
        answers = [
            _PartitionAnswer(
                partition_index=position.partition_index,
                error_code=_commit(context, group, topic, position, _committed(position, now, expires_at)),
            )
            for position in asked.partitions
        ]
        response.topics.append(OffsetCommitResponse.Topic(name=asked.name, topic_id=asked.topic_id, partitions=answers))
    return response


def _limited(context: RequestContext, request: OffsetCommitRequest) -> bool:
    return context.version in _RETENTION and request.retention_time_ms != -1


def _committed(position: _Position, now: float, expires_at: float | None) -> CommittedOffset:
    metadata = position.committed_metadata or ""
    return CommittedOffset(position.committed_offset, position.committed_leader_epoch, metadata, now, expires_at)


def _find(context: RequestContext, request: OffsetCommitRequest, now: float) -> Group | ErrorCode:
    """Find the group, or the error if it refuses the commit. Version 0 kept offsets in ZooKeeper, which any broker reached."""
    groups, generation = context.groups, request.generation_id_or_member_epoch
    if context.version > 0 and context.cluster.coordinator(request.group_id) is not context.broker:
        return ErrorCode.NOT_COORDINATOR
    if generation >= 0 and groups.find(request.group_id) is None:
        return ErrorCode.GROUP_ID_NOT_FOUND if context.version >= _GROUP_NOT_FOUND else ErrorCode.ILLEGAL_GENERATION
    group = groups.find_or_create(request.group_id, now)
    error = group.check_commit(request.member_id, request.group_instance_id, generation)
    if error is not None:
        return error
    if not group.is_empty:
        groups.keep_member(group, request.member_id, now)
    return group


def _commit(
    context: RequestContext,
    group: Callable[[], Group | ErrorCode],
    topic: Topic | ErrorCode,
    position: _Position,
    committed: CommittedOffset,
) -> ErrorCode:
    if isinstance(topic, ErrorCode):
        return topic
    index = position.partition_index
    error = context.injected_error(topic.name, index)
    if error is not None:
        return error
    if not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    found = group()
    if isinstance(found, ErrorCode):
        return found
    if len(committed.metadata) > int(context.cluster.config["offset.metadata.max.bytes"]):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    context.groups.offsets.commit(found.id, TopicPartition(topic.name, index), committed)
    return ErrorCode.NONE

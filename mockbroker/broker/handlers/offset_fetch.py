"""OffsetFetch 0-10: committed offsets of a group, or of several from version 8 (KIP-709); null topics mean all (trap 19).

Left out: unstable offsets of transactions.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkawire.errors import ErrorCode
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.groups.offsets import CommittedOffset
from mockbroker.state.topics import Topic

__all__ = ["handle"]


_Topic = OffsetFetchResponse.Topic
_Group = OffsetFetchResponse.Group
_NONE_COMMITTED = CommittedOffset(-1)


def handle(context: RequestContext, request: OffsetFetchRequest, now: float) -> Answer:
    if context.version >= 8:
        return OffsetFetchResponse(groups=[_group(context, group) for group in request.groups])
    error = _check(context, request.group_id)
    if error and context.version >= 2:
        return OffsetFetchResponse(error_code=error)
    return OffsetFetchResponse(topics=[_topic(context, request.group_id, *asked, error) for asked in _asked(context, request)])


def _check(context: RequestContext, group_id: str) -> ErrorCode:
    """Error of a broker that does not answer for the group. Version 0 kept offsets in ZooKeeper, which any broker reached."""
    if context.injected is not None:
        return context.injected.error
    if context.version > 0 and context.cluster.coordinator(group_id) is not context.broker:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.NONE


def _asked(context: RequestContext, request: OffsetFetchRequest) -> Iterable[tuple[str, list[int]]]:
    if request.topics is None:
        return _all_committed(context, request.group_id)
    return [(topic.name, topic.partition_indexes) for topic in request.topics]


def _all_committed(context: RequestContext, group_id: str) -> Iterable[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for topic, index in context.groups.offsets.of_group(group_id):
        found.setdefault(topic, []).append(index)
    return found.items()


def _topic(context: RequestContext, group_id: str, name: str, indexes: list[int], error: ErrorCode) -> _Topic:
    answers = []
    for index in indexes:
        committed = _committed(context, group_id, name, index, error)
        answers.append(
            _Topic.Partition(
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                error_code=error,
            )
        )
    return _Topic(name=name, partitions=answers)


def _group(context: RequestContext, asked: OffsetFetchRequest.Group) -> _Group:
    error = _check(context, asked.group_id)
    if error:
        return _Group(group_id=asked.group_id, error_code=error)
    if asked.topics is None:
        named = [(context.cluster.topic(name), indexes) for name, indexes in _all_committed(context, asked.group_id)]
        return _Group(
            group_id=asked.group_id, topics=[_known(context, asked.group_id, topic, indexes) for topic, indexes in named]
        )
    return _Group(group_id=asked.group_id, topics=[_wanted(context, asked.group_id, topic) for topic in asked.topics])


def _wanted(context: RequestContext, group_id: str, asked: OffsetFetchRequest.Group.Topics) -> _Group.Topics:
    topic = context.cluster.find_topic(asked.name, asked.topic_id)
    if isinstance(topic, Topic):
        return _known(context, group_id, topic, asked.partition_indexes)
    error = topic if context.version >= 10 else ErrorCode.NONE  # an unknown name has no offset, an unknown id is an error
    return _Group.Topics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=[_position(index, _NONE_COMMITTED, error) for index in asked.partition_indexes],
    )


def _known(context: RequestContext, group_id: str, topic: Topic, indexes: list[int]) -> _Group.Topics:
    positions = [_position(index, _committed(context, group_id, topic.name, index, ErrorCode.NONE)) for index in indexes]
    return _Group.Topics(name=topic.name, topic_id=topic.id, partitions=positions)


def _position(index: int, committed: CommittedOffset, error: ErrorCode = ErrorCode.NONE) -> _Group.Topics.Partitions:
    return _Group.Topics.Partitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=error,
    )


def _committed(context: RequestContext, group_id: str, topic: str, index: int, error: ErrorCode) -> CommittedOffset:
    """Committed offset of a partition; -1 with empty metadata if there is none, or after an error."""
    found = None if error else context.groups.offsets.of_group(group_id).get(TopicPartition(topic, index))
    return found or _NONE_COMMITTED

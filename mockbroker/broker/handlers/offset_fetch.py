"""OffsetFetch 0-10: committed positions of a group, or of several from version 8 (KIP-709); null topics mean all (trap 19).

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


def handle(call: RequestContext, request: OffsetFetchRequest, now: float) -> Answer:
    if call.version >= 8:
        return OffsetFetchResponse(groups=[_group(call, group) for group in request.groups])
    error = _check(call, request.group_id)
    if error and call.version >= 2:
        return OffsetFetchResponse(error_code=error)
    return OffsetFetchResponse(topics=[_topic(call, request.group_id, *asked, error) for asked in _asked(call, request)])


def _check(call: RequestContext, group_id: str) -> ErrorCode:
    """Why the group cannot be answered for. Version 0 kept offsets in ZooKeeper, which any broker reached."""
    if call.injected is not None:
        return call.injected.error
    if call.version > 0 and call.cluster.coordinator(group_id) is not call.broker:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.NONE


def _asked(call: RequestContext, request: OffsetFetchRequest) -> Iterable[tuple[str, list[int]]]:
    if request.topics is None:
        return _all_committed(call, request.group_id)
    return [(topic.name, topic.partition_indexes) for topic in request.topics]


def _all_committed(call: RequestContext, group_id: str) -> Iterable[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for topic, index in call.cluster.groups.all_committed(group_id):
        found.setdefault(topic, []).append(index)
    return found.items()


def _topic(call: RequestContext, group_id: str, name: str, indexes: list[int], error: ErrorCode) -> _Topic:
    answers = []
    for index in indexes:
        committed = _committed(call, group_id, name, index, error)
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


def _group(call: RequestContext, asked: OffsetFetchRequest.Group) -> _Group:
    error = _check(call, asked.group_id)
    if error:
        return _Group(group_id=asked.group_id, error_code=error)
    if asked.topics is None:
        named = [(call.cluster.topic(name), indexes) for name, indexes in _all_committed(call, asked.group_id)]
        return _Group(
            group_id=asked.group_id, topics=[_known(call, asked.group_id, topic, indexes) for topic, indexes in named]
        )
    return _Group(group_id=asked.group_id, topics=[_wanted(call, asked.group_id, topic) for topic in asked.topics])


def _wanted(call: RequestContext, group_id: str, asked: OffsetFetchRequest.Group.Topics) -> _Group.Topics:
    topic = call.cluster.find_topic(asked.name, asked.topic_id)
    if isinstance(topic, Topic):
        return _known(call, group_id, topic, asked.partition_indexes)
    error = topic if call.version >= 10 else ErrorCode.NONE  # an unknown name has no offset, an unknown id is an error
    return _Group.Topics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=[_position(index, _NONE_COMMITTED, error) for index in asked.partition_indexes],
    )


def _known(call: RequestContext, group_id: str, topic: Topic, indexes: list[int]) -> _Group.Topics:
    positions = [_position(index, _committed(call, group_id, topic.name, index, ErrorCode.NONE)) for index in indexes]
    return _Group.Topics(name=topic.name, topic_id=topic.id, partitions=positions)


def _position(index: int, committed: CommittedOffset, error: ErrorCode = ErrorCode.NONE) -> _Group.Topics.Partitions:
    return _Group.Topics.Partitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=error,
    )


def _committed(call: RequestContext, group_id: str, topic: str, index: int, error: ErrorCode) -> CommittedOffset:
    """What is committed; the offset -1 with empty metadata where nothing is, or where there was an error."""
    found = None if error else call.cluster.groups.committed(group_id, TopicPartition(topic, index))
    return found or _NONE_COMMITTED

"""OffsetCommit 0-10: store positions, for consumers that are no members of their group (generation -1).

Left out: membership, expiry.
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from mockbroker.call import Answer, Call
from mockbroker.cluster import Topic
from mockbroker.groups import CommittedOffset

__all__ = ["REQUEST", "handle"]

REQUEST = OffsetCommitRequest

_Asked = OffsetCommitRequest.Topic
_PartitionAnswer = OffsetCommitResponse.Topic.Partition


def handle(call: Call, request: OffsetCommitRequest, now: float) -> Answer:
    refusal = _check(call, request)
    response = OffsetCommitResponse()
    for asked in request.topics:
        topic = call.cluster.find_topic(asked.name, asked.topic_id)
        answers = [
            _PartitionAnswer(
                partition_index=position.partition_index, error_code=refusal or _commit(call, request.group_id, topic, position)
            )
            for position in asked.partitions
        ]
        response.topics.append(OffsetCommitResponse.Topic(name=asked.name, topic_id=asked.topic_id, partitions=answers))
    return response


def _check(call: Call, request: OffsetCommitRequest) -> ErrorCode | None:
    """Why nothing can be committed. Version 0 kept offsets in ZooKeeper, which any broker reached."""
    if call.version > 0 and call.cluster.coordinator(request.group_id) is not call.broker:
        return ErrorCode.NOT_COORDINATOR
    error = call.cluster.groups.check_commit(request.group_id, request.generation_id_or_member_epoch)
    return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.GROUP_ID_NOT_FOUND and call.version < 9 else error


def _commit(call: Call, group_id: str, topic: Topic | ErrorCode, position: _Asked.Partition) -> ErrorCode:
    if isinstance(topic, ErrorCode):
        return topic
    index = position.partition_index
    error = call.injected_error(topic.name, index)
    if error is not None:
        return error
    if not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    metadata = position.committed_metadata or ""
    if len(metadata) > int(call.cluster.config["offset.metadata.max.bytes"]):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    committed = CommittedOffset(position.committed_offset, position.committed_leader_epoch, metadata)
    call.cluster.groups.commit(group_id, TopicPartition(topic.name, index), committed)
    return ErrorCode.NONE

"""OffsetForLeaderEpoch 0-4: the offset at which a leader epoch ended in the leader's log."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


_Wanted = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition
_TopicAnswer = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
_PartitionAnswer = _TopicAnswer.EpochEndOffset


def handle(context: RequestContext, request: OffsetForLeaderEpochRequest, now: float) -> Answer:
    return OffsetForLeaderEpochResponse(
        topics=[
            _TopicAnswer(topic=asked.topic, partitions=[_end(context, asked.topic, wanted) for wanted in asked.partitions])
            for asked in request.topics
        ]
    )


def _end(context: RequestContext, name: str, wanted: _Wanted) -> _PartitionAnswer:
    answer = _PartitionAnswer(partition=wanted.partition)
    topic = context.cluster.find_topic(name)
    found = (
        topic if isinstance(topic, ErrorCode) else context.led_partition(topic, wanted.partition, wanted.current_leader_epoch)
    )
    if isinstance(found, ErrorCode):
        answer.error_code = found
    else:
        answer.leader_epoch, answer.end_offset = found.log.end_of_epoch(wanted.leader_epoch)
    return answer

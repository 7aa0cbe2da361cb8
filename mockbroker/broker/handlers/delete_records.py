"""DeleteRecords 0-2: move the log start offset of partitions to an offset, or with -1 to the high watermark."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


_TopicAnswer = DeleteRecordsResponse.TopicResult
_PartitionAnswer = _TopicAnswer.PartitionResult
_TO_THE_END = -1


def handle(context: RequestContext, request: DeleteRecordsRequest, now: float) -> Answer:
    return DeleteRecordsResponse(
        topics=[
            _TopicAnswer(name=asked.name, partitions=[_delete(context, asked.name, wanted) for wanted in asked.partitions])
            for asked in request.topics
        ]
    )


def _delete(context: RequestContext, name: str, wanted: DeleteRecordsRequest.Topic.Partition) -> _PartitionAnswer:
    answer = _PartitionAnswer(partition_index=wanted.partition_index, low_watermark=-1)
    topic = context.cluster.find_topic(name)
    found = topic if isinstance(topic, ErrorCode) else context.led_partition(topic, wanted.partition_index)
    if isinstance(found, ErrorCode):
        answer.error_code = found
    elif "delete" not in found.topic.config("cleanup.policy"):
        answer.error_code = ErrorCode.POLICY_VIOLATION
    else:
        log = found.log
        offset = log.high_watermark if wanted.offset == _TO_THE_END else wanted.offset
        if not 0 <= offset <= log.high_watermark:
            answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            if offset > log.log_start_offset:
                log.delete_before(offset)
            answer.low_watermark = log.log_start_offset
    return answer

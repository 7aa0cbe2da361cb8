"""DescribeProducers 0: the idempotent producers that the replicas of a partition remember.

Left out: transactions.
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.state.topics import Topic

__all__ = ["handle"]


_TopicAnswer = DescribeProducersResponse.TopicResponse
_PartitionAnswer = _TopicAnswer.PartitionResponse


def handle(context: RequestContext, request: DescribeProducersRequest, now: float) -> Answer:
    response = DescribeProducersResponse()
    for asked in request.topics:
        topic = context.cluster.find_topic(asked.name)
        answers = [_describe(context, topic, index) for index in asked.partition_indexes]
        response.topics.append(_TopicAnswer(name=asked.name, partitions=answers))
    return response


def _describe(context: RequestContext, topic: Topic | ErrorCode, index: int) -> _PartitionAnswer:
    if isinstance(topic, ErrorCode):
        return _PartitionAnswer(partition_index=index, error_code=topic, error_message=topic.text)
    found = context.led_partition(topic, index, or_followed=True)
    if isinstance(found, ErrorCode):
        return _PartitionAnswer(partition_index=index, error_code=found)
    return _PartitionAnswer(
        partition_index=index,
        active_producers=[
            _PartitionAnswer.ProducerState(
                producer_id=producer_id,
                producer_epoch=epoch,
                last_sequence=last.last_sequence,
                last_timestamp=last.timestamp,
                coordinator_epoch=-1,
            )
            for producer_id, epoch, last in found.producers.last_batches()
        ],
    )

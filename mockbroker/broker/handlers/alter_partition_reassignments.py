"""AlterPartitionReassignments 0-1: move partitions to other replicas, which takes `reassignment_seconds`."""

from __future__ import annotations

from kafkawire.errors import BrokerError, ErrorCode, broker_error
from kafkawire.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.state.placement import check_replicas

__all__ = ["handle"]


_Wanted = AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition
_TopicAnswer = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_PartitionAnswer = _TopicAnswer.ReassignablePartitionResponse


def handle(context: RequestContext, request: AlterPartitionReassignmentsRequest, now: float) -> Answer:
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None if request.topics else "",  # as Kafka has it
    )
    error = context.controller_error()
    if error is not None:
        response.error_code, response.error_message = error, error.text
        return response
    for asked in request.topics:
        answers = [_answer(context, request, asked.name, wanted, now) for wanted in asked.partitions]
        response.responses.append(_TopicAnswer(name=asked.name, partitions=answers))
    return response


def _answer(
    context: RequestContext, request: AlterPartitionReassignmentsRequest, name: str, wanted: _Wanted, now: float
) -> _PartitionAnswer:
    answer = _PartitionAnswer(partition_index=wanted.partition_index, error_message=None)
    try:
        error = context.injected_error(name, wanted.partition_index) or _reassign(
            context, name, wanted, now, factor_may_change=request.allow_replication_factor_change
        )
        answer.error_code = error or ErrorCode.NONE
    except BrokerError as refusal:
        answer.error_code, answer.error_message = refusal.error, refusal.context
    return answer


def _reassign(context: RequestContext, name: str, wanted: _Wanted, now: float, *, factor_may_change: bool) -> ErrorCode | None:
    topic = context.cluster.find_topic(name)
    if isinstance(topic, ErrorCode):
        raise broker_error(topic, f"Unable to find a topic named {name}.")
    index = wanted.partition_index
    if not 0 <= index < len(topic.partitions):
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    partition, reassignments = topic.partitions[index], context.cluster.replication.reassignments
    if wanted.replicas is None:
        return None if reassignments.cancel(partition) else ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    check_replicas(wanted.replicas, context.cluster.brokers)
    present = len(reassignments.before(partition))
    if not factor_may_change and len(wanted.replicas) != present:
        reason = f"The replication factor is changed from {present} to {len(wanted.replicas)}"
        raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    reassignments.begin(partition, wanted.replicas, now)
    return None

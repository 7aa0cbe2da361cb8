"""Produce 0-13: append one batch to each partition that this broker leads; versions 0-2 bring message sets.

acks=0 is never answered (trap 11), and closes the connection after an error, as Kafka does to make the client look for the new
leader. A repeat of one of the last five batches of an idempotent producer gets the original offset.

Refusals name the records at fault (KIP-467).

Left out: transactions (refused), acks that wait for replicas (always up to date).
"""

from __future__ import annotations

from kafkawire.errors import BrokerError, ErrorCode, broker_error
from kafkawire.protocol.messages.produce import ProduceRequest, ProduceResponse
from mockbroker.broker.answers import CLOSE, HANG, NO_REPLY, Answer, Silence
from mockbroker.broker.context import RequestContext
from mockbroker.records.record_checks import RecordsRejectedError
from mockbroker.records.validator import WrongFormError, append, check_form
from mockbroker.state.topics import Partition, Topic

__all__ = ["handle"]


_Asked = ProduceRequest.TopicProduceData
_TopicAnswer = ProduceResponse.TopicProduceResponse
_PartitionAnswer = _TopicAnswer.PartitionProduceResponse
_TELL_WHERE_THE_LOG_STARTS = (  # KIP-360
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)


# Reactions to a request whose records are not in the form of its version, or are missing: versions since which they hold.
_CODE_FOR_FORM_SINCE = (2, 1)  # before, the connection is closed
_INVALID_RECORD_SINCE = (2, 4)  # before, CORRUPT_MESSAGE
_CODE_FOR_NOTHING_SINCE = (2, 8)  # before, the connection is closed
_NULL_HANGS_SINCE = (3, 8)  # before, UNKNOWN_SERVER_ERROR


def handle(context: RequestContext, request: ProduceRequest, now: float) -> Answer:
    silence = _silence(context, request)
    if silence is not None:
        return silence
    response = ProduceResponse()
    try:
        for asked in request.topic_data:
            answers = [_produce(context, request, asked, data, now) for data in asked.partition_data]
            response.responses.append(_TopicAnswer(name=asked.name, topic_id=asked.topic_id, partition_responses=answers))
    except WrongFormError:
        return CLOSE
    answers = [answer for topic in response.responses for answer in topic.partition_responses]
    if request.acks == 0:
        return CLOSE if any(answer.error_code for answer in answers) else NO_REPLY
    leaders = {answer.current_leader.leader_id for answer in answers if answer.current_leader is not None}
    if leaders:
        response.node_endpoints = [
            ProduceResponse.NodeEndpoint(node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack)
            for broker in context.cluster.brokers.online()
            if broker.id in leaders
        ]
    return response


def _silence(context: RequestContext, request: ProduceRequest) -> Silence | None:
    """Silence that answers a request with missing records, at which Kafka fails as a whole."""
    if all(data.records for asked in request.topic_data for data in asked.partition_data):
        return None
    version = context.cluster.profile.version
    is_null = any(data.records is None for asked in request.topic_data for data in asked.partition_data)
    if version < _CODE_FOR_NOTHING_SINCE:
        return CLOSE if is_null or context.version >= 3 else None
    return HANG if is_null and version >= _NULL_HANGS_SINCE else None


def _produce(
    context: RequestContext, request: ProduceRequest, asked: _Asked, data: _Asked.PartitionProduceData, now: float
) -> _PartitionAnswer:
    answer = _PartitionAnswer(index=data.index, base_offset=-1)
    topic = context.cluster.find_topic(asked.name, asked.topic_id)
    if isinstance(topic, ErrorCode):
        answer.error_code = topic
        return answer
    try:
        _append(context, request, topic, data, answer, now)
    except RecordsRejectedError as refusal:
        answer.error_code, answer.error_message = refusal.error, refusal.message
        answer.log_start_offset = topic.partitions[data.index].log.log_start_offset
        answer.record_errors = [
            _PartitionAnswer.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
            for index, reason in refusal.reasons.items()
        ]
    except WrongFormError:
        version = context.cluster.profile.version
        if version < _CODE_FOR_FORM_SINCE:
            raise
        answer.error_code = ErrorCode.CORRUPT_MESSAGE if version < _INVALID_RECORD_SINCE else ErrorCode.INVALID_RECORD
    except BrokerError as refusal:
        answer.error_code = refusal.error
        if refusal.error in _TELL_WHERE_THE_LOG_STARTS:
            answer.log_start_offset = topic.partitions[data.index].log.log_start_offset
    if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and context.version >= 10:  # KIP-951
        partition = topic.partitions[data.index]
        answer.current_leader = _PartitionAnswer.LeaderIdAndEpoch(
            leader_id=partition.leader, leader_epoch=partition.leader_epoch
        )
    return answer


def _least_in_sync(partition: Partition) -> int:
    """Number of in-sync replicas that acks=all needs; never more than there are replicas."""
    return min(int(partition.topic.config("min.insync.replicas")), len(partition.replicas))


def _append(
    context: RequestContext,
    request: ProduceRequest,
    topic: Topic,
    data: _Asked.PartitionProduceData,
    answer: _PartitionAnswer,
    now: float,
) -> None:
    cluster = context.cluster
    found = context.led_partition(topic, data.index)
    error = _refusal(context, request, found)
    if error is not None or data.records is None or isinstance(found, ErrorCode):
        if error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and data.records is not None:
            check_form(data.records, context.version)  # Kafka checks the form before it looks for the log
        raise broker_error(error or ErrorCode.UNKNOWN_SERVER_ERROR, "not appended")
    appended = append(found, data.records, context.version, cluster.profile.magic, cluster.wall_clock_ms(now), limit_times=True)
    answer.base_offset = appended.base_offset
    answer.log_append_time_ms = appended.log_append_time
    answer.log_start_offset = found.log.log_start_offset


def _refusal(context: RequestContext, request: ProduceRequest, found: Partition | ErrorCode) -> ErrorCode | None:
    """Error that refuses any records for the partition."""
    if found is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return found
    if request.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if isinstance(found, ErrorCode):
        return found
    if request.acks == -1 and len(context.cluster.replication.in_sync_replicas(found)) < _least_in_sync(found):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return None

"""ElectLeaders 0-2: make preferred replicas leaders; unclean, any online replica of a partition without leader."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.state.topics import Topic

__all__ = ["handle"]


_TopicAnswer = ElectLeadersResponse.ReplicaElectionResult
_PartitionAnswer = _TopicAnswer.PartitionResult
_UNCLEAN = 1
_TYPES = (0, _UNCLEAN)  # preferred, unclean


def handle(context: RequestContext, request: ElectLeadersRequest, now: float) -> Answer:
    error = context.controller_error()
    if error is not None:
        return ElectLeadersResponse(error_code=error)
    if request.topic_partitions is None:
        results = [_elect_topic(context, request, topic) for topic in context.cluster.topics.values()]
        return ElectLeadersResponse(replica_election_results=[result for result in results if result.partition_result])
    response = ElectLeadersResponse()
    for asked in request.topic_partitions:
        answers = [_elect(context, request.election_type, asked.topic, index) for index in asked.partitions]
        response.replica_election_results.append(_TopicAnswer(topic=asked.topic, partition_result=answers))
    if request.topic_partitions and request.election_type not in _TYPES:
        response.error_code = ErrorCode.INVALID_REQUEST
    return response


def _elect_topic(context: RequestContext, request: ElectLeadersRequest, topic: Topic) -> _TopicAnswer:
    """Elect leaders for all partitions of a topic that need it."""
    answers = [_elect(context, request.election_type, topic.name, partition.index) for partition in topic.partitions]
    needed = [answer for answer in answers if answer.error_code != ErrorCode.ELECTION_NOT_NEEDED]
    return _TopicAnswer(topic=topic.name, partition_result=needed)


def _elect(context: RequestContext, election_type: int, name: str, index: int) -> _PartitionAnswer:
    answer = _PartitionAnswer(partition_id=index, error_message=None)
    topic = context.cluster.find_topic(name)
    error: ErrorCode | None
    if election_type not in _TYPES:
        error, answer.error_message = ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}"
    elif isinstance(topic, ErrorCode):
        error, answer.error_message = topic, f"No such topic as {name}"
    elif not 0 <= index < len(topic.partitions):
        error, answer.error_message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
    else:
        error = context.injected_error(name, index)
        if error is None:
            error = context.cluster.replication.elect_leader(topic.partitions[index], unclean=election_type == _UNCLEAN)
        answer.error_message = None if error is None else error.text
    answer.error_code = error or ErrorCode.NONE
    return answer

"""ListPartitionReassignments 0: the partitions that move to other replicas."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


_Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
_Partition = _Topic.OngoingPartitionReassignment


def handle(context: RequestContext, request: ListPartitionReassignmentsRequest, now: float) -> Answer:
    error = context.injected.error if context.injected is not None else context.controller_error()
    if error is not None:
        return ListPartitionReassignmentsResponse(error_code=error, error_message=error.text)
    wanted = None if request.topics is None else {(one.name, at) for one in request.topics for at in one.partition_indexes}
    topics: dict[str, _Topic] = {}
    for partition, adding, removing in context.cluster.replication.reassignments:
        name = partition.topic.name
        if wanted is None or (name, partition.index) in wanted:
            shown = _Partition(
                partition_index=partition.index,
                replicas=partition.replicas,
                adding_replicas=list(adding),
                removing_replicas=list(removing),
            )
            topics.setdefault(name, _Topic(name=name)).partitions.append(shown)
    return ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None, topics=list(topics.values()))

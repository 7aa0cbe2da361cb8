"""ListPartitionReassignments: the reassignments that are going on (KIP-455)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["ListPartitionReassignmentsRequest", "ListPartitionReassignmentsResponse"]


class ListPartitionReassignmentsRequest(Request, key=46, versions="0", flexible="0+"):
    class Topics(Struct):
        name: String = field()
        partition_indexes: list[Int32] = field()

    timeout_ms: Int32 = field(default=60000)
    topics: list[Topics] | None = field(default=None, nullable="0+")


class ListPartitionReassignmentsResponse(Response, key=46, versions="0", flexible="0+"):
    class OngoingTopicReassignment(Struct):
        class OngoingPartitionReassignment(Struct):
            partition_index: Int32 = field()
            replicas: list[Int32] = field()
            adding_replicas: list[Int32] = field()
            removing_replicas: list[Int32] = field()

        name: String = field()
        partitions: list[OngoingPartitionReassignment] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    topics: list[OngoingTopicReassignment] = field()

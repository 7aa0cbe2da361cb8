"""AlterPartitionReassignments: give partitions new replicas, or cancel that (KIP-455).

Version 1 can forbid a change of the replication factor (KIP-860).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, String

__all__ = ["AlterPartitionReassignmentsRequest", "AlterPartitionReassignmentsResponse"]


class AlterPartitionReassignmentsRequest(Request, key=45, versions="0-1", flexible="0+"):
    class ReassignableTopic(Struct):
        class ReassignablePartition(Struct):
            partition_index: Int32 = field()
            replicas: list[Int32] | None = field(default=None, nullable="0+")

        name: String = field()
        partitions: list[ReassignablePartition] = field()

    timeout_ms: Int32 = field(default=60000)
    allow_replication_factor_change: Bool = field("1+", default=True)
    topics: list[ReassignableTopic] = field()


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
    class ReassignableTopicResponse(Struct):
        class ReassignablePartitionResponse(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field(nullable="0+")

        name: String = field()
        partitions: list[ReassignablePartitionResponse] = field()

    throttle_time_ms: Int32 = field()
    allow_replication_factor_change: Bool = field("1+", default=True, ignorable=True)
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    responses: list[ReassignableTopicResponse] = field()

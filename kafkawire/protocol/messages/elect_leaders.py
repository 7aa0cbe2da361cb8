"""ElectLeaders: make preferred replicas the leaders of partitions (KIP-183), or any replica from version 1 (KIP-460)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["ElectLeadersRequest", "ElectLeadersResponse"]


class ElectLeadersRequest(Request, key=43, versions="0-2", flexible="2+"):
    class TopicPartitions(Struct):
        topic: String = field()
        partitions: list[Int32] = field()

    election_type: Int8 = field("1+")
    topic_partitions: list[TopicPartitions] | None = field(nullable="0+")
    timeout_ms: Int32 = field(default=60000)


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    class ReplicaElectionResult(Struct):
        class PartitionResult(Struct):
            partition_id: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field(nullable="0+")

        topic: String = field()
        partition_result: list[PartitionResult] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("1+")
    replica_election_results: list[ReplicaElectionResult] = field()

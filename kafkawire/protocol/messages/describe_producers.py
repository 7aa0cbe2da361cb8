"""DescribeProducers: the producers that a partition's leader remembers, with their open transactions (KIP-664)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String

__all__ = ["DescribeProducersRequest", "DescribeProducersResponse"]


class DescribeProducersRequest(Request, key=61, versions="0", flexible="0+"):
    class TopicRequest(Struct):
        name: String = field()
        partition_indexes: list[Int32] = field()

    topics: list[TopicRequest] = field()


class DescribeProducersResponse(Response, key=61, versions="0", flexible="0+"):
    class TopicResponse(Struct):
        class PartitionResponse(Struct):
            class ProducerState(Struct):
                producer_id: Int64 = field()
                producer_epoch: Int32 = field()
                last_sequence: Int32 = field(default=-1)
                last_timestamp: Int64 = field(default=-1)
                coordinator_epoch: Int32 = field()
                current_txn_start_offset: Int64 = field(default=-1)

            partition_index: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field(default=None, nullable="0+")
            active_producers: list[ProducerState] = field()

        name: String = field()
        partitions: list[PartitionResponse] = field()

    throttle_time_ms: Int32 = field()
    topics: list[TopicResponse] = field()

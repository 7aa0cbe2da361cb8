"""Produce: append records to partitions.

Version 3 brought record batches and transactions (KIP-98), version 10 names the new leader (KIP-951), version 13 has topic ids
(KIP-516).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, Records, String, Uuid

__all__ = ["ProduceRequest", "ProduceResponse"]


class ProduceRequest(Request, key=0, versions="0-13", flexible="9+"):
    class TopicProduceData(Struct):
        class PartitionProduceData(Struct):
            index: Int32 = field()
            records: Records | None = field(nullable="0+")

        name: String = field("0-12", ignorable=True)
        topic_id: Uuid = field("13+", ignorable=True)
        partition_data: list[PartitionProduceData] = field()

    transactional_id: String | None = field("3+", default=None, nullable="0+")
    acks: Int16 = field()
    timeout_ms: Int32 = field()
    topic_data: list[TopicProduceData] = field()


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+"):
    class TopicProduceResponse(Struct):
        class PartitionProduceResponse(Struct):
            class BatchIndexAndErrorMessage(Struct):
                batch_index: Int32 = field()
                batch_index_error_message: String | None = field(default=None, nullable="0+")

            class LeaderIdAndEpoch(Struct):
                leader_id: Int32 = field(default=-1)
                leader_epoch: Int32 = field(default=-1)

            index: Int32 = field()
            error_code: Int16 = field()
            base_offset: Int64 = field()
            log_append_time_ms: Int64 = field("2+", default=-1, ignorable=True)
            log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
            record_errors: list[BatchIndexAndErrorMessage] = field("8+", ignorable=True)
            error_message: String | None = field("8+", default=None, nullable="0+", ignorable=True)
            current_leader: LeaderIdAndEpoch | None = field("10+", tag=0)

        name: String = field("0-12", ignorable=True)
        topic_id: Uuid = field("13+", ignorable=True)
        partition_responses: list[PartitionProduceResponse] = field()

    class NodeEndpoint(Struct):
        node_id: Int32 = field()
        host: String = field()
        port: Int32 = field()
        rack: String | None = field(default=None, nullable="0+")

    responses: list[TopicProduceResponse] = field()
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = field("10+", tag=0)

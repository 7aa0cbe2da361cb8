"""ShareFetch: acquire records for a share group, and acknowledge earlier ones on the way (KIP-932).

Version 0 was early access, here as Kafka 3.9 had it. Version 2 can keep strictly to the number of records (KIP-1206) and renew
locks (KIP-1222).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, Int64, Records, String, Uuid

__all__ = ["ShareFetchRequest", "ShareFetchResponse"]


class ShareFetchRequest(Request, key=78, versions="0-2", stable="1-2", flexible="0+"):
    class FetchTopic(Struct):
        class FetchPartition(Struct):
            class AcknowledgementBatch(Struct):
                first_offset: Int64 = field()
                last_offset: Int64 = field()
                acknowledge_types: list[Int8] = field()

            partition_index: Int32 = field()
            partition_max_bytes: Int32 = field("0")
            acknowledgement_batches: list[AcknowledgementBatch] = field()

        topic_id: Uuid = field()
        partitions: list[FetchPartition] = field()

    class ForgottenTopic(Struct):
        topic_id: Uuid = field()
        partitions: list[Int32] = field()

    group_id: String | None = field(default=None, nullable="0+")
    member_id: String | None = field(nullable="0+")
    share_session_epoch: Int32 = field()
    max_wait_ms: Int32 = field()
    min_bytes: Int32 = field()
    max_bytes: Int32 = field(default=0x7FFFFFFF)
    max_records: Int32 = field("1+")
    batch_size: Int32 = field("1+")
    share_acquire_mode: Int8 = field("2+", ignorable=True)
    is_renew_ack: Bool = field("2+")
    topics: list[FetchTopic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field()


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    class ShareFetchableTopicResponse(Struct):
        class PartitionData(Struct):
            class LeaderIdAndEpoch(Struct):
                leader_id: Int32 = field()
                leader_epoch: Int32 = field()

            class AcquiredRecords(Struct):
                first_offset: Int64 = field()
                last_offset: Int64 = field()
                delivery_count: Int16 = field()

            partition_index: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field(default=None, nullable="0+")
            acknowledge_error_code: Int16 = field()
            acknowledge_error_message: String | None = field(default=None, nullable="0+")
            current_leader: LeaderIdAndEpoch = field()
            records: Records | None = field(nullable="0")
            acquired_records: list[AcquiredRecords] = field()

        topic_id: Uuid = field()
        partitions: list[PartitionData] = field()

    class NodeEndpoint(Struct):
        node_id: Int32 = field()
        host: String = field()
        port: Int32 = field()
        rack: String | None = field(default=None, nullable="0+")

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
    acquisition_lock_timeout_ms: Int32 = field("1+")
    responses: list[ShareFetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field()

"""ShareAcknowledge: accept, release or reject acquired records (KIP-932), or renew their locks from version 2 (KIP-1222).

Version 0 was early access.
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, Int64, String, Uuid

__all__ = ["ShareAcknowledgeRequest", "ShareAcknowledgeResponse"]


class ShareAcknowledgeRequest(Request, key=79, versions="0-2", stable="1-2", flexible="0+"):
    class AcknowledgeTopic(Struct):
        class AcknowledgePartition(Struct):
            class AcknowledgementBatch(Struct):
                first_offset: Int64 = field()
                last_offset: Int64 = field()
                acknowledge_types: list[Int8] = field()

            partition_index: Int32 = field()
            acknowledgement_batches: list[AcknowledgementBatch] = field()

        topic_id: Uuid = field()
        partitions: list[AcknowledgePartition] = field()

    group_id: String | None = field(default=None, nullable="0+")
    member_id: String | None = field(nullable="0+")
    share_session_epoch: Int32 = field()
    is_renew_ack: Bool = field("2+")
    topics: list[AcknowledgeTopic] = field()


class ShareAcknowledgeResponse(Response, key=79, versions="0-2", flexible="0+"):
    class Topic(Struct):
        class PartitionData(Struct):
            class LeaderIdAndEpoch(Struct):
                leader_id: Int32 = field()
                leader_epoch: Int32 = field()

            partition_index: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field(default=None, nullable="0+")
            current_leader: LeaderIdAndEpoch = field()

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
    acquisition_lock_timeout_ms: Int32 = field("2+", ignorable=True)
    responses: list[Topic] = field()
    node_endpoints: list[NodeEndpoint] = field()

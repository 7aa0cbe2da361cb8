"""TxnOffsetCommit: store the positions of a group as part of a transaction (KIP-98).

Version 3 names the member, so that one that was replaced is fenced (KIP-447). Version 5 needs no AddOffsetsToTxn before it
(KIP-890). Version 6 has topic ids in place of names, and members of both group protocols (KIP-1319).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String, Uuid

__all__ = ["TxnOffsetCommitRequest", "TxnOffsetCommitResponse"]


class TxnOffsetCommitRequest(Request, key=28, versions="0-6", flexible="3+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            committed_offset: Int64 = field()
            committed_leader_epoch: Int32 = field("2+", default=-1, ignorable=True)
            committed_metadata: String | None = field(nullable="0+")

        name: String = field("0-5", ignorable=True)
        topic_id: Uuid = field("6+", ignorable=True)
        partitions: list[Partition] = field()

    transactional_id: String = field()
    group_id: String = field()
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    generation_id_or_member_epoch: Int32 = field("3+", default=-1)
    member_id: String = field("3+")
    group_instance_id: String | None = field("3+", default=None, nullable="0+")
    topics: list[Topic] = field()


class TxnOffsetCommitResponse(Response, key=28, versions="0-6", flexible="3+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()

        name: String = field("0-5", ignorable=True)
        topic_id: Uuid = field("6+", ignorable=True)
        partitions: list[Partition] = field()

    throttle_time_ms: Int32 = field()
    topics: list[Topic] = field()

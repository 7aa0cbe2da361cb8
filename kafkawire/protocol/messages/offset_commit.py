"""OffsetCommit: store the positions of a group. Version 9 serves consumer groups too, version 10 has topic ids (KIP-848)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String, Uuid

__all__ = ["OffsetCommitRequest", "OffsetCommitResponse"]


class OffsetCommitRequest(Request, key=8, versions="0-10", flexible="8+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            committed_offset: Int64 = field()
            committed_leader_epoch: Int32 = field("6+", default=-1, ignorable=True)
            commit_timestamp: Int64 = field("1", default=-1)
            committed_metadata: String | None = field(nullable="0+")

        name: String = field("0-9", ignorable=True)
        topic_id: Uuid = field("10+", ignorable=True)
        partitions: list[Partition] = field()

    group_id: String = field()
    generation_id_or_member_epoch: Int32 = field("1+", default=-1, ignorable=True)
    member_id: String = field("1+", ignorable=True)
    group_instance_id: String | None = field("7+", default=None, nullable="0+")
    retention_time_ms: Int64 = field("2-4", default=-1, ignorable=True)
    topics: list[Topic] = field()


class OffsetCommitResponse(Response, key=8, versions="0-10", flexible="8+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()

        name: String = field("0-9", ignorable=True)
        topic_id: Uuid = field("10+", ignorable=True)
        partitions: list[Partition] = field()

    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[Topic] = field()

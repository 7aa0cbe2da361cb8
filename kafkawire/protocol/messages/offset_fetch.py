"""OffsetFetch: the stored positions of a group, or of many groups from version 8 (KIP-709)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, Int64, String, Uuid

__all__ = ["OffsetFetchRequest", "OffsetFetchResponse"]


class OffsetFetchRequest(Request, key=9, versions="0-10", flexible="6+"):
    class Topic(Struct):
        name: String = field()
        partition_indexes: list[Int32] = field()

    class Group(Struct):
        class Topics(Struct):
            name: String = field("8-9", ignorable=True)
            topic_id: Uuid = field("10+", ignorable=True)
            partition_indexes: list[Int32] = field()

        group_id: String = field()
        member_id: String | None = field("9+", default=None, nullable="0+", ignorable=True)
        member_epoch: Int32 = field("9+", default=-1, ignorable=True)
        topics: list[Topics] | None = field(nullable="0+")

    group_id: String = field("0-7")
    topics: list[Topic] | None = field("0-7", nullable="2-7")
    groups: list[Group] = field("8+")
    require_stable: Bool = field("7+")


class OffsetFetchResponse(Response, key=9, versions="0-10", flexible="6+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            committed_offset: Int64 = field()
            committed_leader_epoch: Int32 = field("5-7", default=-1, ignorable=True)
            metadata: String | None = field(nullable="0+")
            error_code: Int16 = field()

        name: String = field()
        partitions: list[Partition] = field()

    class Group(Struct):
        class Topics(Struct):
            class Partitions(Struct):
                partition_index: Int32 = field()
                committed_offset: Int64 = field()
                committed_leader_epoch: Int32 = field(default=-1, ignorable=True)
                metadata: String | None = field(nullable="0+")
                error_code: Int16 = field()

            name: String = field("8-9", ignorable=True)
            topic_id: Uuid = field("10+", ignorable=True)
            partitions: list[Partitions] = field()

        group_id: String = field()
        topics: list[Topics] = field()
        error_code: Int16 = field()

    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[Topic] = field("0-7")
    error_code: Int16 = field("2-7", ignorable=True)
    groups: list[Group] = field("8+")

"""DescribeShareGroupOffsets: the offsets from which share groups start to read (KIP-932). Version 1 has the lag (KIP-1226)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String, Uuid

__all__ = ["DescribeShareGroupOffsetsRequest", "DescribeShareGroupOffsetsResponse"]


class DescribeShareGroupOffsetsRequest(Request, key=90, versions="0-1", flexible="0+"):
    class Group(Struct):
        class Topic(Struct):
            topic_name: String = field()
            partitions: list[Int32] = field()

        group_id: String = field()
        topics: list[Topic] | None = field(nullable="0+")

    groups: list[Group] = field()


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    class Group(Struct):
        class Topic(Struct):
            class Partition(Struct):
                partition_index: Int32 = field()
                start_offset: Int64 = field()
                leader_epoch: Int32 = field()
                lag: Int64 = field("1+", default=-1, ignorable=True)
                error_code: Int16 = field()
                error_message: String | None = field(default=None, nullable="0+")

            topic_name: String = field()
            topic_id: Uuid = field()
            partitions: list[Partition] = field()

        group_id: String = field()
        topics: list[Topic] = field()
        error_code: Int16 = field()
        error_message: String | None = field(default=None, nullable="0+")

    throttle_time_ms: Int32 = field()
    groups: list[Group] = field()

"""ListOffsets: the offsets of partitions at a time, or at their ends.

Version 0 lists the starts of log segments; from version 1 there is one offset, found by timestamp (KIP-79).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, Int64, String

__all__ = ["ListOffsetsRequest", "ListOffsetsResponse"]


class ListOffsetsRequest(Request, key=2, versions="0-11", flexible="6+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            current_leader_epoch: Int32 = field("4+", default=-1, ignorable=True)
            timestamp: Int64 = field()
            max_num_offsets: Int32 = field("0", default=1)

        name: String = field()
        partitions: list[Partition] = field()

    replica_id: Int32 = field()
    isolation_level: Int8 = field("2+")
    topics: list[Topic] = field()
    timeout_ms: Int32 = field("10+", ignorable=True)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()
            old_style_offsets: list[Int64] = field("0")
            timestamp: Int64 = field("1+", default=-1)
            offset: Int64 = field("1+", default=-1)
            leader_epoch: Int32 = field("4+", default=-1)

        name: String = field()
        partitions: list[Partition] = field()

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[Topic] = field()

"""OffsetDelete: delete the stored positions of a group for partitions that it does not consume (KIP-496)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["OffsetDeleteRequest", "OffsetDeleteResponse"]


class OffsetDeleteRequest(Request, key=47, versions="0"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()

        name: String = field()
        partitions: list[Partition] = field()

    group_id: String = field()
    topics: list[Topic] = field()


class OffsetDeleteResponse(Response, key=47, versions="0"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()

        name: String = field()
        partitions: list[Partition] = field()

    error_code: Int16 = field()
    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[Topic] = field()

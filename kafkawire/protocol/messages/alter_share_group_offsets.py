"""AlterShareGroupOffsets: set where a share group without members starts to read (KIP-932)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String, Uuid

__all__ = ["AlterShareGroupOffsetsRequest", "AlterShareGroupOffsetsResponse"]


class AlterShareGroupOffsetsRequest(Request, key=91, versions="0", flexible="0+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            start_offset: Int64 = field()

        topic_name: String = field()
        partitions: list[Partition] = field()

    group_id: String = field()
    topics: list[Topic] = field()


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field(default=None, nullable="0+")

        topic_name: String = field()
        topic_id: Uuid = field()
        partitions: list[Partition] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
    responses: list[Topic] = field()

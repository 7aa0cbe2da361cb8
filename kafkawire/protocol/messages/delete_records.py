"""DeleteRecords: delete the records of partitions before an offset (KIP-107)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String

__all__ = ["DeleteRecordsRequest", "DeleteRecordsResponse"]


class DeleteRecordsRequest(Request, key=21, versions="0-2", flexible="2+"):
    class Topic(Struct):
        class Partition(Struct):
            partition_index: Int32 = field()
            offset: Int64 = field()

        name: String = field()
        partitions: list[Partition] = field()

    topics: list[Topic] = field()
    timeout_ms: Int32 = field()


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+"):
    class TopicResult(Struct):
        class PartitionResult(Struct):
            partition_index: Int32 = field()
            low_watermark: Int64 = field()
            error_code: Int16 = field()

        name: String = field()
        partitions: list[PartitionResult] = field()

    throttle_time_ms: Int32 = field()
    topics: list[TopicResult] = field()

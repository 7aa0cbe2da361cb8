"""DescribeTopicPartitions: topics and their partitions in pages, with the eligible leader replicas (KIP-966)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, String, Uuid

__all__ = ["DescribeTopicPartitionsRequest", "DescribeTopicPartitionsResponse"]


class DescribeTopicPartitionsRequest(Request, key=75, versions="0", flexible="0+"):
    class TopicRequest(Struct):
        name: String = field()

    class Cursor(Struct):
        topic_name: String = field()
        partition_index: Int32 = field()

    topics: list[TopicRequest] = field()
    response_partition_limit: Int32 = field(default=2000)
    cursor: Cursor | None = field(default=None, nullable="0+")


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    class Topic(Struct):
        class Partition(Struct):
            error_code: Int16 = field()
            partition_index: Int32 = field()
            leader_id: Int32 = field()
            leader_epoch: Int32 = field(default=-1, ignorable=True)
            replica_nodes: list[Int32] = field()
            isr_nodes: list[Int32] = field()
            eligible_leader_replicas: list[Int32] | None = field(default=None, nullable="0+")
            last_known_elr: list[Int32] | None = field(default=None, nullable="0+")
            offline_replicas: list[Int32] = field(ignorable=True)

        error_code: Int16 = field()
        name: String | None = field(nullable="0+")
        topic_id: Uuid = field(ignorable=True)
        is_internal: Bool = field(ignorable=True)
        partitions: list[Partition] = field()
        topic_authorized_operations: Int32 = field(default=-2147483648)

    class Cursor(Struct):
        topic_name: String = field()
        partition_index: Int32 = field()

    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[Topic] = field()
    next_cursor: Cursor | None = field(default=None, nullable="0+")

"""DescribeLogDirs: the log directories of a broker and the replicas in them (KIP-113).

Version 4 has the size of the disks (KIP-827), version 5 whether a directory takes no new replicas (KIP-1066).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, Int64, String

__all__ = ["DescribeLogDirsRequest", "DescribeLogDirsResponse"]


class DescribeLogDirsRequest(Request, key=35, versions="0-5", flexible="2+"):
    class DescribableLogDirTopic(Struct):
        topic: String = field()
        partitions: list[Int32] = field()

    topics: list[DescribableLogDirTopic] | None = field(nullable="0+")


class DescribeLogDirsResponse(Response, key=35, versions="0-5", flexible="2+"):
    class Result(Struct):
        class Topic(Struct):
            class Partition(Struct):
                partition_index: Int32 = field()
                partition_size: Int64 = field()
                offset_lag: Int64 = field()
                is_future_key: Bool = field()

            name: String = field()
            partitions: list[Partition] = field()

        error_code: Int16 = field()
        log_dir: String = field()
        topics: list[Topic] = field()
        total_bytes: Int64 = field("4+", default=-1, ignorable=True)
        usable_bytes: Int64 = field("4+", default=-1, ignorable=True)
        is_cordoned: Bool = field("5+", ignorable=True)

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("3+", ignorable=True)
    results: list[Result] = field()

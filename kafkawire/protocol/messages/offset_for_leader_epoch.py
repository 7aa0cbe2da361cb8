"""OffsetForLeaderEpoch: the end offset of a leader epoch in the leader's log, which shows truncated records (KIP-101).

Consumers use it too, fenced by the current epoch from version 2 (KIP-320).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String

__all__ = ["OffsetForLeaderEpochRequest", "OffsetForLeaderEpochResponse"]


class OffsetForLeaderEpochRequest(Request, key=23, versions="0-4", flexible="4+"):
    class OffsetForLeaderTopic(Struct):
        class OffsetForLeaderPartition(Struct):
            partition: Int32 = field()
            current_leader_epoch: Int32 = field("2+", default=-1, ignorable=True)
            leader_epoch: Int32 = field()

        topic: String = field()
        partitions: list[OffsetForLeaderPartition] = field()

    replica_id: Int32 = field("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field()


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    class OffsetForLeaderTopicResult(Struct):
        class EpochEndOffset(Struct):
            error_code: Int16 = field()
            partition: Int32 = field()
            leader_epoch: Int32 = field("1+", default=-1, ignorable=True)
            end_offset: Int64 = field(default=-1)

        topic: String = field()
        partitions: list[EpochEndOffset] = field()

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field()

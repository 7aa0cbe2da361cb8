"""Fetch: read records of partitions, within a fetch session from version 7 (KIP-227)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, Int64, Records, String, Uuid

__all__ = ["FetchRequest", "FetchResponse"]


class FetchRequest(Request, key=1, versions="0-18", flexible="12+"):
    class ReplicaState(Struct):
        replica_id: Int32 = field(default=-1)
        replica_epoch: Int64 = field(default=-1)

    class Topic(Struct):
        class Partition(Struct):
            partition: Int32 = field()
            current_leader_epoch: Int32 = field("9+", default=-1, ignorable=True)
            fetch_offset: Int64 = field()
            last_fetched_epoch: Int32 = field("12+", default=-1)
            log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
            partition_max_bytes: Int32 = field()
            replica_directory_id: Uuid = field("17+", tag=0, ignorable=True)
            high_watermark: Int64 = field("18+", default=0x7FFFFFFFFFFFFFFF, tag=1, ignorable=True)

        topic: String = field("0-12", ignorable=True)
        topic_id: Uuid = field("13+", ignorable=True)
        partitions: list[Partition] = field()

    class ForgottenTopic(Struct):
        topic: String = field("7-12", ignorable=True)
        topic_id: Uuid = field("13+", ignorable=True)
        partitions: list[Int32] = field()

    cluster_id: String | None = field("12+", default=None, nullable="0+", tag=0, ignorable=True)
    replica_id: Int32 = field("0-14", default=-1)
    replica_state: ReplicaState | None = field("15+", tag=1)
    max_wait_ms: Int32 = field()
    min_bytes: Int32 = field()
    max_bytes: Int32 = field("3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: Int8 = field("4+", ignorable=True)
    session_id: Int32 = field("7+", ignorable=True)
    session_epoch: Int32 = field("7+", default=-1, ignorable=True)
    topics: list[Topic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field("7+")
    rack_id: String = field("11+", ignorable=True)


class FetchResponse(Response, key=1, versions="0-18", flexible="12+"):
    class FetchableTopicResponse(Struct):
        class PartitionData(Struct):
            class EpochEndOffset(Struct):
                epoch: Int32 = field(default=-1)
                end_offset: Int64 = field(default=-1)

            class LeaderIdAndEpoch(Struct):
                leader_id: Int32 = field(default=-1)
                leader_epoch: Int32 = field(default=-1)

            class SnapshotId(Struct):
                end_offset: Int64 = field(default=-1)
                epoch: Int32 = field(default=-1)

            class AbortedTransaction(Struct):
                producer_id: Int64 = field()
                first_offset: Int64 = field()

            partition_index: Int32 = field()
            error_code: Int16 = field()
            high_watermark: Int64 = field()
            last_stable_offset: Int64 = field("4+", default=-1, ignorable=True)
            log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
            diverging_epoch: EpochEndOffset | None = field("12+", tag=0)
            current_leader: LeaderIdAndEpoch | None = field("12+", tag=1)
            snapshot_id: SnapshotId | None = field("12+", tag=2)
            aborted_transactions: list[AbortedTransaction] | None = field("4+", nullable="0+", ignorable=True)
            preferred_read_replica: Int32 = field("11+", default=-1)
            records: Records | None = field(nullable="0+")

        topic: String = field("0-12", ignorable=True)
        topic_id: Uuid = field("13+", ignorable=True)
        partitions: list[PartitionData] = field()

    class NodeEndpoint(Struct):
        node_id: Int32 = field()
        host: String = field()
        port: Int32 = field()
        rack: String | None = field(default=None, nullable="0+")

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("7+", ignorable=True)
    session_id: Int32 = field("7+")
    responses: list[FetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field("16+", tag=0)

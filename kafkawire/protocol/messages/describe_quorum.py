"""DescribeQuorum: the state of the KRaft quorum (KIP-595).

Version 1 has the time of each replica's last fetch (KIP-836), version 2 names their directories and listeners (KIP-853).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String, UInt16, Uuid

__all__ = ["DescribeQuorumRequest", "DescribeQuorumResponse"]


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible="0+"):
    class TopicData(Struct):
        class PartitionData(Struct):
            partition_index: Int32 = field()

        topic_name: String = field()
        partitions: list[PartitionData] = field()

    topics: list[TopicData] = field()


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    class TopicData(Struct):
        class PartitionData(Struct):
            class ReplicaState(Struct):
                replica_id: Int32 = field()
                replica_directory_id: Uuid = field("2+")
                log_end_offset: Int64 = field()
                last_fetch_timestamp: Int64 = field("1+", default=-1, ignorable=True)
                last_caught_up_timestamp: Int64 = field("1+", default=-1, ignorable=True)

            partition_index: Int32 = field()
            error_code: Int16 = field()
            error_message: String | None = field("2+", nullable="0+", ignorable=True)
            leader_id: Int32 = field()
            leader_epoch: Int32 = field()
            high_watermark: Int64 = field()
            current_voters: list[ReplicaState] = field()
            observers: list[ReplicaState] = field()

        topic_name: String = field()
        partitions: list[PartitionData] = field()

    class Node(Struct):
        class Listener(Struct):
            name: String = field()
            host: String = field()
            port: UInt16 = field()

        node_id: Int32 = field()
        listeners: list[Listener] = field()

    error_code: Int16 = field()
    error_message: String | None = field("2+", nullable="0+", ignorable=True)
    topics: list[TopicData] = field()
    nodes: list[Node] = field("2+")

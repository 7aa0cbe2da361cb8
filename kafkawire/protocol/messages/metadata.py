"""Metadata: the brokers of the cluster, its topics, and the leaders of their partitions. Version 12 has topic ids (KIP-516)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, String, Uuid

__all__ = ["MetadataRequest", "MetadataResponse"]


class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
    class Topic(Struct):
        topic_id: Uuid = field("10+", ignorable=True)
        name: String | None = field(nullable="10+")

    topics: list[Topic] | None = field(nullable="1+")
    allow_auto_topic_creation: Bool = field("4+", default=True)
    include_cluster_authorized_operations: Bool = field("8-10")
    include_topic_authorized_operations: Bool = field("8+")


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+"):
    class Broker(Struct):
        node_id: Int32 = field()
        host: String = field()
        port: Int32 = field()
        rack: String | None = field("1+", default=None, nullable="0+", ignorable=True)

    class Topic(Struct):
        class Partition(Struct):
            error_code: Int16 = field()
            partition_index: Int32 = field()
            leader_id: Int32 = field()
            leader_epoch: Int32 = field("7+", default=-1, ignorable=True)
            replica_nodes: list[Int32] = field()
            isr_nodes: list[Int32] = field()
            offline_replicas: list[Int32] = field("5+", ignorable=True)

        error_code: Int16 = field()
        name: String | None = field(nullable="12+")
        topic_id: Uuid = field("10+", ignorable=True)
        is_internal: Bool = field("1+", ignorable=True)
        partitions: list[Partition] = field()
        topic_authorized_operations: Int32 = field("8+", default=-2147483648)

    throttle_time_ms: Int32 = field("3+", ignorable=True)
    brokers: list[Broker] = field()
    cluster_id: String | None = field("2+", default=None, nullable="0+", ignorable=True)
    controller_id: Int32 = field("1+", default=-1, ignorable=True)
    topics: list[Topic] = field()
    cluster_authorized_operations: Int32 = field("8-10", default=-2147483648)
    error_code: Int16 = field("13+", ignorable=True)

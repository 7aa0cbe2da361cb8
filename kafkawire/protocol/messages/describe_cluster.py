"""DescribeCluster: the cluster's id and its brokers (KIP-700), or its controllers from version 1 (KIP-919).

Version 2 can include fenced brokers (KIP-1073).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, String

__all__ = ["DescribeClusterRequest", "DescribeClusterResponse"]


class DescribeClusterRequest(Request, key=60, versions="0-2", flexible="0+"):
    include_cluster_authorized_operations: Bool = field()
    endpoint_type: Int8 = field("1+", default=1)
    include_fenced_brokers: Bool = field("2+")


class DescribeClusterResponse(Response, key=60, versions="0-2", flexible="0+"):
    class Broker(Struct):
        broker_id: Int32 = field()
        host: String = field()
        port: Int32 = field()
        rack: String | None = field(default=None, nullable="0+")
        is_fenced: Bool = field("2+")

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
    endpoint_type: Int8 = field("1+", default=1)
    cluster_id: String = field()
    controller_id: Int32 = field(default=-1)
    brokers: list[Broker] = field()
    cluster_authorized_operations: Int32 = field(default=-2147483648)

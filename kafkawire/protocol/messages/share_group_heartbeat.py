"""ShareGroupHeartbeat: membership, subscription and assignment of a share group (KIP-932). Version 0 was early access."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String, Uuid

__all__ = ["ShareGroupHeartbeatRequest", "ShareGroupHeartbeatResponse"]


class ShareGroupHeartbeatRequest(Request, key=76, versions="0-1", stable="1", flexible="0+"):
    group_id: String = field()
    member_id: String = field()
    member_epoch: Int32 = field()
    rack_id: String | None = field(default=None, nullable="0+")
    subscribed_topic_names: list[String] | None = field(default=None, nullable="0+")


class ShareGroupHeartbeatResponse(Response, key=76, versions="0-1", flexible="0+"):
    class Assignment(Struct):
        class TopicPartitions(Struct):
            topic_id: Uuid = field()
            partitions: list[Int32] = field()

        topic_partitions: list[TopicPartitions] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
    member_id: String | None = field(default=None, nullable="0+")
    member_epoch: Int32 = field()
    heartbeat_interval_ms: Int32 = field()
    assignment: Assignment | None = field(default=None, nullable="0+")

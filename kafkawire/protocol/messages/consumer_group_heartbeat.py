"""ConsumerGroupHeartbeat: membership, subscription and assignment of a consumer group in one request (KIP-848).

Version 1 has subscriptions by regular expression, and members that choose their own ids (KIP-1082).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String, Uuid

__all__ = ["ConsumerGroupHeartbeatRequest", "ConsumerGroupHeartbeatResponse"]


class ConsumerGroupHeartbeatRequest(Request, key=68, versions="0-1", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid = field()
        partitions: list[Int32] = field()

    group_id: String = field()
    member_id: String = field()
    member_epoch: Int32 = field()
    instance_id: String | None = field(default=None, nullable="0+")
    rack_id: String | None = field(default=None, nullable="0+")
    rebalance_timeout_ms: Int32 = field(default=-1)
    subscribed_topic_names: list[String] | None = field(default=None, nullable="0+")
    subscribed_topic_regex: String | None = field("1+", default=None, nullable="0+")
    server_assignor: String | None = field(default=None, nullable="0+")
    topic_partitions: list[TopicPartitions] | None = field(default=None, nullable="0+")


class ConsumerGroupHeartbeatResponse(Response, key=68, versions="0-1", flexible="0+"):
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

"""Heartbeat: tell the coordinator of a classic group that a member is alive. Static members came with version 3 (KIP-345)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["HeartbeatRequest", "HeartbeatResponse"]


class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+"):
    group_id: String = field()
    generation_id: Int32 = field()
    member_id: String = field()
    group_instance_id: String | None = field("3+", default=None, nullable="0+")


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()

"""LeaveGroup: leave a classic group, from version 3 as many members (KIP-345). Version 5 has a reason (KIP-800)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["LeaveGroupRequest", "LeaveGroupResponse"]


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+"):
    class MemberIdentity(Struct):
        member_id: String = field()
        group_instance_id: String | None = field(default=None, nullable="0+")
        reason: String | None = field("5+", default=None, nullable="0+", ignorable=True)

    group_id: String = field()
    member_id: String = field("0-2")
    members: list[MemberIdentity] = field("3+")


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    class MemberResponse(Struct):
        member_id: String = field()
        group_instance_id: String | None = field(nullable="0+")
        error_code: Int16 = field()

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
    members: list[MemberResponse] = field("3+")

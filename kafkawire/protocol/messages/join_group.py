"""JoinGroup: become a member of a classic group, or take part in its next generation.

From version 4 a new member asks twice, the second time under the id it was given (KIP-394). Version 5 has static members
(KIP-345), version 8 the reason (KIP-800), and version 9 can tell the leader to skip the assignment (KIP-814).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Bytes, Int16, Int32, String

__all__ = ["JoinGroupRequest", "JoinGroupResponse"]


class JoinGroupRequest(Request, key=11, versions="0-9", flexible="6+"):
    class Protocol(Struct):
        name: String = field()
        metadata: Bytes = field()

    group_id: String = field()
    session_timeout_ms: Int32 = field()
    rebalance_timeout_ms: Int32 = field("1+", default=-1, ignorable=True)
    member_id: String = field()
    group_instance_id: String | None = field("5+", default=None, nullable="0+")
    protocol_type: String = field()
    protocols: list[Protocol] = field()
    reason: String | None = field("8+", default=None, nullable="0+", ignorable=True)


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+"):
    class Member(Struct):
        member_id: String = field()
        group_instance_id: String | None = field("5+", default=None, nullable="0+", ignorable=True)
        metadata: Bytes = field()

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    error_code: Int16 = field()
    generation_id: Int32 = field(default=-1)
    protocol_type: String | None = field("7+", default=None, nullable="0+", ignorable=True)
    protocol_name: String | None = field(nullable="7+")
    leader: String = field()
    skip_assignment: Bool = field("9+")
    member_id: String = field()
    members: list[Member] = field()

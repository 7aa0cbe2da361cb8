"""SyncGroup: hand in the assignment as the leader of a classic group, and get one's own part of it.

Static members came with version 3 (KIP-345), the check that all mean the same protocol with version 5 (KIP-559).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bytes, Int16, Int32, String

__all__ = ["SyncGroupRequest", "SyncGroupResponse"]


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+"):
    class Assignment(Struct):
        member_id: String = field()
        assignment: Bytes = field()

    group_id: String = field()
    generation_id: Int32 = field()
    member_id: String = field()
    group_instance_id: String | None = field("3+", default=None, nullable="0+")
    protocol_type: String | None = field("5+", default=None, nullable="0+", ignorable=True)
    protocol_name: String | None = field("5+", default=None, nullable="0+", ignorable=True)
    assignments: list[Assignment] = field()


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
    protocol_type: String | None = field("5+", default=None, nullable="0+", ignorable=True)
    protocol_name: String | None = field("5+", default=None, nullable="0+", ignorable=True)
    assignment: Bytes = field()

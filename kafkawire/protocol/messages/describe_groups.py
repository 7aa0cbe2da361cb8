"""DescribeGroups: state and members of classic groups.

Version 3 has permissions (KIP-430), version 6 has an error for a group that does not exist (KIP-1043).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Bytes, Int16, Int32, String

__all__ = ["DescribeGroupsRequest", "DescribeGroupsResponse"]


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    groups: list[String] = field()
    include_authorized_operations: Bool = field("3+")


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    class DescribedGroup(Struct):
        class DescribedGroupMember(Struct):
            member_id: String = field()
            group_instance_id: String | None = field("4+", default=None, nullable="0+", ignorable=True)
            client_id: String = field()
            client_host: String = field()
            member_metadata: Bytes = field()
            member_assignment: Bytes = field()

        error_code: Int16 = field()
        error_message: String | None = field("6+", default=None, nullable="0+")
        group_id: String = field()
        group_state: String = field()
        protocol_type: String = field()
        protocol_data: String = field()
        members: list[DescribedGroupMember] = field()
        authorized_operations: Int32 = field("3+", default=-2147483648)

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    groups: list[DescribedGroup] = field()

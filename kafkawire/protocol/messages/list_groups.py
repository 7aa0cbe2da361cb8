"""ListGroups: the groups that a broker coordinates, by state from version 4 (KIP-518) and by type from version 5 (KIP-848)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["ListGroupsRequest", "ListGroupsResponse"]


class ListGroupsRequest(Request, key=16, versions="0-5", flexible="3+"):
    states_filter: list[String] = field("4+")
    types_filter: list[String] = field("5+")


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+"):
    class ListedGroup(Struct):
        group_id: String = field()
        protocol_type: String = field()
        group_state: String = field("4+", ignorable=True)
        group_type: String = field("5+", ignorable=True)

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
    groups: list[ListedGroup] = field()

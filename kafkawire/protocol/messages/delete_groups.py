"""DeleteGroups: delete groups that have no members, with their offsets (KIP-229). Version 3 has error messages."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["DeleteGroupsRequest", "DeleteGroupsResponse"]


class DeleteGroupsRequest(Request, key=42, versions="0-3", flexible="2+"):
    groups_names: list[String] = field()


class DeleteGroupsResponse(Response, key=42, versions="0-3", flexible="2+"):
    class DeletableGroupResult(Struct):
        group_id: String = field()
        error_code: Int16 = field()
        error_message: String | None = field("3+", default=None, nullable="3+", ignorable=True)

    throttle_time_ms: Int32 = field()
    results: list[DeletableGroupResult] = field()

"""DeleteAcls: delete the ACLs that match filters (KIP-140), and list them; prefixes from version 1 (KIP-290)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["DeleteAclsRequest", "DeleteAclsResponse"]


class DeleteAclsRequest(Request, key=31, versions="0-3", flexible="2+"):
    class Filter(Struct):
        resource_type_filter: Int8 = field()
        resource_name_filter: String | None = field(nullable="0+")
        pattern_type_filter: Int8 = field("1+", default=3)
        principal_filter: String | None = field(nullable="0+")
        host_filter: String | None = field(nullable="0+")
        operation: Int8 = field()
        permission_type: Int8 = field()

    filters: list[Filter] = field()


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+"):
    class FilterResult(Struct):
        class MatchingAcl(Struct):
            error_code: Int16 = field()
            error_message: String | None = field(nullable="0+")
            resource_type: Int8 = field()
            resource_name: String = field()
            pattern_type: Int8 = field("1+", default=3)
            principal: String = field()
            host: String = field()
            operation: Int8 = field()
            permission_type: Int8 = field()

        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")
        matching_acls: list[MatchingAcl] = field()

    throttle_time_ms: Int32 = field()
    filter_results: list[FilterResult] = field()

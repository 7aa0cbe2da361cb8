"""DescribeAcls: the ACLs that match a filter (KIP-140), with prefixed resource patterns from version 1 (KIP-290)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["DescribeAclsRequest", "DescribeAclsResponse"]


class DescribeAclsRequest(Request, key=29, versions="0-3", flexible="2+"):
    resource_type_filter: Int8 = field()
    resource_name_filter: String | None = field(nullable="0+")
    pattern_type_filter: Int8 = field("1+", default=3)
    principal_filter: String | None = field(nullable="0+")
    host_filter: String | None = field(nullable="0+")
    operation: Int8 = field()
    permission_type: Int8 = field()


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+"):
    class Resource(Struct):
        class AclDescription(Struct):
            principal: String = field()
            host: String = field()
            operation: Int8 = field()
            permission_type: Int8 = field()

        resource_type: Int8 = field()
        resource_name: String = field()
        pattern_type: Int8 = field("1+", default=3)
        acls: list[AclDescription] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    resources: list[Resource] = field()

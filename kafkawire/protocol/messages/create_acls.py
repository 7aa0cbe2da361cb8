"""CreateAcls: add ACLs (KIP-140), on prefixes of resource names from version 1 (KIP-290)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["CreateAclsRequest", "CreateAclsResponse"]


class CreateAclsRequest(Request, key=30, versions="0-3", flexible="2+"):
    class AclCreation(Struct):
        resource_type: Int8 = field()
        resource_name: String = field()
        resource_pattern_type: Int8 = field("1+", default=3)
        principal: String = field()
        host: String = field()
        operation: Int8 = field()
        permission_type: Int8 = field()

    creations: list[AclCreation] = field()


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+"):
    class AclCreationResult(Struct):
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")

    throttle_time_ms: Int32 = field()
    results: list[AclCreationResult] = field()

"""AlterConfigs: replace the whole configuration of resources (KIP-133).

Values that are not mentioned go back to their defaults, which is why IncrementalAlterConfigs took its place (KIP-339).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, String

__all__ = ["AlterConfigsRequest", "AlterConfigsResponse"]


class AlterConfigsRequest(Request, key=33, versions="0-2", flexible="2+"):
    class Resource(Struct):
        class AlterableConfig(Struct):
            name: String = field()
            value: String | None = field(nullable="0+", secret=True)

        resource_type: Int8 = field()
        resource_name: String = field()
        configs: list[AlterableConfig] = field()

    resources: list[Resource] = field()
    validate_only: Bool = field()


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+"):
    class Resource(Struct):
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")
        resource_type: Int8 = field()
        resource_name: String = field()

    throttle_time_ms: Int32 = field()
    responses: list[Resource] = field()

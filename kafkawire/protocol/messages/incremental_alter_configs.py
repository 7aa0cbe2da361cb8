"""IncrementalAlterConfigs: set, delete, append to or subtract from single configuration values (KIP-339)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, String

__all__ = ["IncrementalAlterConfigsRequest", "IncrementalAlterConfigsResponse"]


class IncrementalAlterConfigsRequest(Request, key=44, versions="0-1", flexible="1+"):
    class AlterConfigsResource(Struct):
        class AlterableConfig(Struct):
            name: String = field()
            config_operation: Int8 = field()
            value: String | None = field(nullable="0+", secret=True)

        resource_type: Int8 = field()
        resource_name: String = field()
        configs: list[AlterableConfig] = field()

    resources: list[AlterConfigsResource] = field()
    validate_only: Bool = field()


class IncrementalAlterConfigsResponse(Response, key=44, versions="0-1", flexible="1+"):
    class AlterConfigsResourceResponse(Struct):
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")
        resource_type: Int8 = field()
        resource_name: String = field()

    throttle_time_ms: Int32 = field()
    responses: list[AlterConfigsResourceResponse] = field()

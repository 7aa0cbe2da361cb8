"""ListConfigResources: the resources that can have a configuration (KIP-1142).

Version 0 lists only client metrics resources, and was called ListClientMetricsResources (KIP-1000).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["ListConfigResourcesRequest", "ListConfigResourcesResponse"]


class ListConfigResourcesRequest(Request, key=74, versions="0-1", flexible="0+"):
    resource_types: list[Int8] = field("1+")


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    class ConfigResource(Struct):
        resource_name: String = field()
        resource_type: Int8 = field("1+", default=16, ignorable=True)

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    config_resources: list[ConfigResource] = field()

"""DescribeConfigs: the configuration of topics, brokers, groups and so on (KIP-133), sensitive values as null.

Version 1 has the source of each value (KIP-226), version 3 its type and documentation (KIP-569).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, String

__all__ = ["DescribeConfigsRequest", "DescribeConfigsResponse"]


class DescribeConfigsRequest(Request, key=32, versions="0-4", flexible="4+"):
    class Resource(Struct):
        resource_type: Int8 = field()
        resource_name: String = field()
        configuration_keys: list[String] | None = field(nullable="0+")

    resources: list[Resource] = field()
    include_synonyms: Bool = field("1+")
    include_documentation: Bool = field("3+")


class DescribeConfigsResponse(Response, key=32, versions="0-4", flexible="4+"):
    class Result(Struct):
        class ResourceResult(Struct):
            class Synonym(Struct):
                name: String = field()
                value: String | None = field(nullable="0+")
                source: Int8 = field()

            name: String = field()
            value: String | None = field(nullable="0+")
            read_only: Bool = field()
            is_default: Bool = field("0")
            config_source: Int8 = field("1+", default=-1, ignorable=True)
            is_sensitive: Bool = field()
            synonyms: list[Synonym] = field("1+", ignorable=True)
            config_type: Int8 = field("3+", ignorable=True)
            documentation: String | None = field("3+", nullable="0+", ignorable=True)

        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")
        resource_type: Int8 = field()
        resource_name: String = field()
        configs: list[ResourceResult] = field()

    throttle_time_ms: Int32 = field()
    results: list[Result] = field()

"""DescribeClientQuotas: the quotas of users, client ids and addresses that match a filter (KIP-546)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Float64, Int8, Int16, Int32, String

__all__ = ["DescribeClientQuotasRequest", "DescribeClientQuotasResponse"]


class DescribeClientQuotasRequest(Request, key=48, versions="0-1", flexible="1+"):
    class ComponentData(Struct):
        entity_type: String = field()
        match_type: Int8 = field()
        match: String | None = field(nullable="0+")

    components: list[ComponentData] = field()
    strict: Bool = field()


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    class EntryData(Struct):
        class EntityData(Struct):
            entity_type: String = field()
            entity_name: String | None = field(nullable="0+")

        class ValueData(Struct):
            key: String = field()
            value: Float64 = field()

        entity: list[EntityData] = field()
        values: list[ValueData] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    entries: list[EntryData] | None = field(nullable="0+")

"""AlterClientQuotas: set or remove quotas of users, client ids and addresses (KIP-546)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Float64, Int16, Int32, String

__all__ = ["AlterClientQuotasRequest", "AlterClientQuotasResponse"]


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+"):
    class EntryData(Struct):
        class EntityData(Struct):
            entity_type: String = field()
            entity_name: String | None = field(nullable="0+")

        class OpData(Struct):
            key: String = field()
            value: Float64 = field()
            remove: Bool = field()

        entity: list[EntityData] = field()
        ops: list[OpData] = field()

    entries: list[EntryData] = field()
    validate_only: Bool = field()


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    class EntryData(Struct):
        class EntityData(Struct):
            entity_type: String = field()
            entity_name: String | None = field(nullable="0+")

        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")
        entity: list[EntityData] = field()

    throttle_time_ms: Int32 = field()
    entries: list[EntryData] = field()

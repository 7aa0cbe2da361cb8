"""UnregisterBroker: take a broker that is gone out of a KRaft cluster (KIP-631)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["UnregisterBrokerRequest", "UnregisterBrokerResponse"]


class UnregisterBrokerRequest(Request, key=64, versions="0", flexible="0+"):
    broker_id: Int32 = field()


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")

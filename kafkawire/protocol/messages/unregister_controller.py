"""UnregisterController: take a controller that is gone out of a KRaft cluster."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["UnregisterControllerRequest", "UnregisterControllerResponse"]


class UnregisterControllerRequest(Request, key=94, versions="0", flexible="0+"):
    controller_id: Int32 = field()


class UnregisterControllerResponse(Response, key=94, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")

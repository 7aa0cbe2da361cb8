"""FindCoordinator: the broker that looks after a group, or after a transactional id from version 1 (KIP-98).

Version 4 asks for many at once (KIP-699), version 6 knows share groups (KIP-932).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["FindCoordinatorRequest", "FindCoordinatorResponse"]


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    key: String = field("0-3")
    key_type: Int8 = field("1+")
    coordinator_keys: list[String] = field("4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    class Coordinator(Struct):
        key: String = field()
        node_id: Int32 = field()
        host: String = field()
        port: Int32 = field()
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+", ignorable=True)

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0-3")
    error_message: String | None = field("1-3", nullable="0+", ignorable=True)
    node_id: Int32 = field("0-3")
    host: String = field("0-3")
    port: Int32 = field("0-3")
    coordinators: list[Coordinator] = field("4+")

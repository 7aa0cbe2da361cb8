"""SaslAuthenticate: one step of a SASL exchange (KIP-152). From version 1 the last answer says how long it holds (KIP-368)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Bytes, Int16, Int64, String

__all__ = ["SaslAuthenticateRequest", "SaslAuthenticateResponse"]


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes: Bytes = field(secret=True)


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    auth_bytes: Bytes = field(secret=True)
    session_lifetime_ms: Int64 = field("1+", ignorable=True)

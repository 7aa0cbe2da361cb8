"""ExpireDelegationToken: end a delegation token, at once or later (KIP-48)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Bytes, Int16, Int32, Int64

__all__ = ["ExpireDelegationTokenRequest", "ExpireDelegationTokenResponse"]


class ExpireDelegationTokenRequest(Request, key=40, versions="0-2", flexible="2+"):
    hmac: Bytes = field(secret=True)
    expiry_time_period_ms: Int64 = field()


class ExpireDelegationTokenResponse(Response, key=40, versions="0-2", flexible="2+"):
    error_code: Int16 = field()
    expiry_timestamp_ms: Int64 = field()
    throttle_time_ms: Int32 = field()

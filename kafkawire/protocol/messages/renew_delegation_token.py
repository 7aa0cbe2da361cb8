"""RenewDelegationToken: let a delegation token live longer (KIP-48)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Bytes, Int16, Int32, Int64

__all__ = ["RenewDelegationTokenRequest", "RenewDelegationTokenResponse"]


class RenewDelegationTokenRequest(Request, key=39, versions="0-2", flexible="2+"):
    hmac: Bytes = field(secret=True)
    renew_period_ms: Int64 = field()


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+"):
    error_code: Int16 = field()
    expiry_timestamp_ms: Int64 = field()
    throttle_time_ms: Int32 = field()

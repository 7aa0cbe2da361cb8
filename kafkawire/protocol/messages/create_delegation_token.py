"""CreateDelegationToken: make a delegation token (KIP-48), for another owner from version 3 (KIP-373)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bytes, Int16, Int32, Int64, String

__all__ = ["CreateDelegationTokenRequest", "CreateDelegationTokenResponse"]


class CreateDelegationTokenRequest(Request, key=38, versions="0-3", flexible="2+"):
    class CreatableRenewers(Struct):
        principal_type: String = field()
        principal_name: String = field()

    owner_principal_type: String | None = field("3+", nullable="0+")
    owner_principal_name: String | None = field("3+", nullable="0+")
    renewers: list[CreatableRenewers] = field()
    max_lifetime_ms: Int64 = field()


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+"):
    error_code: Int16 = field()
    principal_type: String = field()
    principal_name: String = field()
    token_requester_principal_type: String = field("3+")
    token_requester_principal_name: String = field("3+")
    issue_timestamp_ms: Int64 = field()
    expiry_timestamp_ms: Int64 = field()
    max_timestamp_ms: Int64 = field()
    token_id: String = field()
    hmac: Bytes = field(secret=True)
    throttle_time_ms: Int32 = field()

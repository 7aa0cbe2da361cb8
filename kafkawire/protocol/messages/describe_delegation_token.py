"""DescribeDelegationToken: the delegation tokens of owners (KIP-48); version 3 also has their requesters (KIP-373)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bytes, Int16, Int32, Int64, String

__all__ = ["DescribeDelegationTokenRequest", "DescribeDelegationTokenResponse"]


class DescribeDelegationTokenRequest(Request, key=41, versions="0-3", flexible="2+"):
    class Owner(Struct):
        principal_type: String = field()
        principal_name: String = field()

    owners: list[Owner] | None = field(nullable="0+")


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+"):
    class DescribedDelegationToken(Struct):
        class DescribedDelegationTokenRenewer(Struct):
            principal_type: String = field()
            principal_name: String = field()

        principal_type: String = field()
        principal_name: String = field()
        token_requester_principal_type: String = field("3+")
        token_requester_principal_name: String = field("3+")
        issue_timestamp: Int64 = field()
        expiry_timestamp: Int64 = field()
        max_timestamp: Int64 = field()
        token_id: String = field()
        hmac: Bytes = field(secret=True)
        renewers: list[DescribedDelegationTokenRenewer] = field()

    error_code: Int16 = field()
    tokens: list[DescribedDelegationToken] = field()
    throttle_time_ms: Int32 = field()

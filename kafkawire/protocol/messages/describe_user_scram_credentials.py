"""DescribeUserScramCredentials: the users that have SCRAM credentials, with mechanisms and iterations (KIP-554)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = ["DescribeUserScramCredentialsRequest", "DescribeUserScramCredentialsResponse"]


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible="0+"):
    class UserName(Struct):
        name: String = field()

    users: list[UserName] | None = field(nullable="0+")


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    class Result(Struct):
        class CredentialInfo(Struct):
            mechanism: Int8 = field()
            iterations: Int32 = field()

        user: String = field()
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")
        credential_infos: list[CredentialInfo] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    results: list[Result] = field()

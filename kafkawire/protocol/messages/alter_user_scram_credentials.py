"""AlterUserScramCredentials: set or delete SCRAM credentials of users (KIP-554). The client salts and hashes the password."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bytes, Int8, Int16, Int32, String

__all__ = ["AlterUserScramCredentialsRequest", "AlterUserScramCredentialsResponse"]


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible="0+"):
    class ScramCredentialDeletion(Struct):
        name: String = field()
        mechanism: Int8 = field()

    class ScramCredentialUpsertion(Struct):
        name: String = field()
        mechanism: Int8 = field()
        iterations: Int32 = field()
        salt: Bytes = field(secret=True)
        salted_password: Bytes = field(secret=True)

    deletions: list[ScramCredentialDeletion] = field()
    upsertions: list[ScramCredentialUpsertion] = field()


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    class Result(Struct):
        user: String = field()
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")

    throttle_time_ms: Int32 = field()
    results: list[Result] = field()

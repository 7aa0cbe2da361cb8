"""RemoveRaftVoter: take a voter out of the KRaft quorum (KIP-853)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, Int32, String, Uuid

__all__ = ["RemoveRaftVoterRequest", "RemoveRaftVoterResponse"]


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+"):
    cluster_id: String | None = field(nullable="0+")
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", ignorable=True)

"""AddRaftVoter: make a controller a voter of the KRaft quorum (KIP-853), from version 1 without waiting for it (KIP-1186)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, String, UInt16, Uuid

__all__ = ["AddRaftVoterRequest", "AddRaftVoterResponse"]


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+"):
    class Listener(Struct):
        name: String = field()
        host: String = field()
        port: UInt16 = field()

    cluster_id: String | None = field(nullable="0+")
    timeout_ms: Int32 = field()
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field()
    listeners: list[Listener] = field()
    ack_when_committed: Bool = field("1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", ignorable=True)

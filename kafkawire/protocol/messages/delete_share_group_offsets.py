"""DeleteShareGroupOffsets: delete the offsets that a share group without members has in topics (KIP-932)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String, Uuid

__all__ = ["DeleteShareGroupOffsetsRequest", "DeleteShareGroupOffsetsResponse"]


class DeleteShareGroupOffsetsRequest(Request, key=92, versions="0", flexible="0+"):
    class Topic(Struct):
        topic_name: String = field()

    group_id: String = field()
    topics: list[Topic] = field()


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    class Topic(Struct):
        topic_name: String = field()
        topic_id: Uuid = field()
        error_code: Int16 = field()
        error_message: String | None = field(default=None, nullable="0+")

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
    responses: list[Topic] = field()

"""CreatePartitions: add partitions to topics (KIP-195). From version 3 the broker may refuse for quota reasons (KIP-599)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, String

__all__ = ["CreatePartitionsRequest", "CreatePartitionsResponse"]


class CreatePartitionsRequest(Request, key=37, versions="0-3", flexible="2+"):
    class Topic(Struct):
        class Assignment(Struct):
            broker_ids: list[Int32] = field()

        name: String = field()
        count: Int32 = field()
        assignments: list[Assignment] | None = field(nullable="0+")

    topics: list[Topic] = field()
    timeout_ms: Int32 = field()
    validate_only: Bool = field()


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+"):
    class TopicResult(Struct):
        name: String = field()
        error_code: Int16 = field()
        error_message: String | None = field(default=None, nullable="0+")

    throttle_time_ms: Int32 = field()
    results: list[TopicResult] = field()

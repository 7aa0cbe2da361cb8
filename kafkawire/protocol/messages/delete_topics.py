"""DeleteTopics: delete topics, by name or by id from version 6 (KIP-516)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String, Uuid

__all__ = ["DeleteTopicsRequest", "DeleteTopicsResponse"]


class DeleteTopicsRequest(Request, key=20, versions="0-6", flexible="4+"):
    class DeleteTopicState(Struct):
        name: String | None = field(default=None, nullable="0+")
        topic_id: Uuid = field()

    topics: list[DeleteTopicState] = field("6+")
    topic_names: list[String] = field("0-5", ignorable=True)
    timeout_ms: Int32 = field()


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+"):
    class DeletableTopicResult(Struct):
        name: String | None = field(nullable="6+")
        topic_id: Uuid = field("6+", ignorable=True)
        error_code: Int16 = field()
        error_message: String | None = field("5+", default=None, nullable="0+", ignorable=True)

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    responses: list[DeletableTopicResult] = field()

"""DeleteTopics 0-6: topics by name, or by id from version 6 (KIP-516).

Left out: quotas, `delete.topic.enable`.
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.call import Answer, Call

__all__ = ["REQUEST", "handle"]

REQUEST = DeleteTopicsRequest

_TopicAnswer = DeleteTopicsResponse.DeletableTopicResult


def handle(call: Call, request: DeleteTopicsRequest, now: float) -> Answer:
    named = [_delete(call, name, ZERO_UUID) for name in request.topic_names]
    return DeleteTopicsResponse(responses=named + [_delete(call, topic.name, topic.topic_id) for topic in request.topics])


def _delete(call: Call, name: str | None, topic_id: bytes) -> _TopicAnswer:
    answer = _TopicAnswer(name=name, topic_id=topic_id)
    topic = call.cluster.find_topic(name, topic_id)
    if isinstance(topic, ErrorCode):
        answer.error_code = topic
        answer.error_message = topic.text
        return answer
    answer.name, answer.topic_id = topic.name, topic.id
    error = call.injected_error(topic.name) or call.controller_error()
    if error is not None:
        answer.error_code = error
        answer.error_message = error.text
    else:
        call.cluster.delete_topic(topic.name)
    return answer

"""DeleteTopics 0-6: topics by name, or by id from version 6 (KIP-516).

Left out: quotas, `delete.topic.enable`.
"""

from __future__ import annotations

from collections import Counter

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.state.topics import Topic

__all__ = ["handle"]


_TopicAnswer = DeleteTopicsResponse.DeletableTopicResult
_NOT_HERE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
}
_Key = tuple[str | None, bytes]
"""Name and id of a topic as a request has them: normally one of the two."""


def handle(context: RequestContext, request: DeleteTopicsRequest, now: float) -> Answer:
    asked: Counter[_Key] = Counter((name, ZERO_UUID) for name in request.topic_names)
    asked.update((topic.name, topic.topic_id) for topic in request.topics)
    found = {key: context.cluster.find_topic(*key) for key in asked}
    answers = []
    for key, topic in found.items():
        twice = isinstance(topic, Topic) and {(topic.name, ZERO_UUID), (None, topic.id)} <= asked.keys()
        if twice and key[0] is None:
            continue  # answered under its name
        reason = _misuse(key, asked[key], twice=twice)
        if reason is None:
            answers.append(_delete(context, key, topic))
        else:
            topic_id = topic.id if twice and isinstance(topic, Topic) else key[1]
            answers.append(
                _TopicAnswer(name=key[0], topic_id=topic_id, error_code=ErrorCode.INVALID_REQUEST, error_message=reason)
            )
    return DeleteTopicsResponse(responses=answers)


def _misuse(key: _Key, often: int, *, twice: bool) -> str | None:
    """Reason to refuse how a request names a topic. twice: it has the topic by name and by id."""
    name, topic_id = key
    if name is None and topic_id == ZERO_UUID:
        return "Neither topic name nor id were specified."
    if name is not None and topic_id != ZERO_UUID:
        return "You may not specify both topic name and topic id."
    if twice:
        return "The provided topic name maps to an ID that was already supplied."
    if often > 1:
        return "Duplicate topic id." if name is None else "Duplicate topic name."
    return None


def _delete(context: RequestContext, key: _Key, topic: Topic | ErrorCode) -> _TopicAnswer:
    if isinstance(topic, ErrorCode):
        return _TopicAnswer(name=key[0], topic_id=key[1], error_code=topic, error_message=_NOT_HERE[topic])
    answer = _TopicAnswer(name=topic.name, topic_id=topic.id)
    error = context.injected_error(topic.name) or context.controller_error()
    if error is not None:
        answer.error_code, answer.error_message = error, error.text
    else:
        context.cluster.delete_topic(topic.name)
    return answer

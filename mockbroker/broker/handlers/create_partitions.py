"""CreatePartitions 0-3: more partitions for topics, on chosen brokers or on any.

Left out: quotas.
"""

from __future__ import annotations

from collections import Counter

from kafkawire.errors import BrokerError, ErrorCode, broker_error
from kafkawire.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.broker.handlers.create_topics import MOST_RECORDS

__all__ = ["handle"]


_Asked = CreatePartitionsRequest.Topic
_TopicAnswer = CreatePartitionsResponse.TopicResult


def handle(context: RequestContext, request: CreatePartitionsRequest, now: float) -> Answer:
    often = Counter(topic.name for topic in request.topics)
    return CreatePartitionsResponse(
        results=[
            _add(context, topic, repeated=often[topic.name] > 1, validate_only=request.validate_only)
            for topic in {topic.name: topic for topic in request.topics}.values()
        ]
    )


def _add(context: RequestContext, asked: _Asked, *, repeated: bool, validate_only: bool) -> _TopicAnswer:
    try:
        error = context.injected_error(asked.name) or context.controller_error()
        if error is not None:
            raise broker_error(error, error.text)
        if repeated:
            raise broker_error(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        topic = context.cluster.find_topic(asked.name)
        if isinstance(topic, ErrorCode):
            return _TopicAnswer(name=asked.name, error_code=topic)
        if asked.count - len(topic.partitions) > MOST_RECORDS:
            return _TopicAnswer(name=asked.name, error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        assignments = None if asked.assignments is None else [each.broker_ids for each in asked.assignments]
        context.cluster.add_partitions(topic, asked.count, assignments, validate_only=validate_only)
    except BrokerError as refusal:
        return _TopicAnswer(name=asked.name, error_code=refusal.error, error_message=refusal.context)
    return _TopicAnswer(name=asked.name)

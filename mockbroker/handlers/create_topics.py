"""CreateTopics 0-7: topics by number of partitions and replicas, or with assigned replicas, and their configurations.

Left out: quotas, creation policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kafkawire.errors import BrokerError, ErrorCode, broker_error
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from mockbroker.call import Answer, Call
from mockbroker.cluster import Topic
from mockbroker.configs import TOPIC_CONFIGS

__all__ = ["REQUEST", "handle"]

REQUEST = CreateTopicsRequest

_Asked = CreateTopicsRequest.CreatableTopic
_TopicAnswer = CreateTopicsResponse.CreatableTopicResult
_DYNAMIC_TOPIC_CONFIG = 1
_DEFAULT_CONFIG = 5


def handle(call: Call, request: CreateTopicsRequest, now: float) -> Answer:
    asked = Counter(topic.name for topic in request.topics)
    return CreateTopicsResponse(
        topics=[
            _create(call, topic, repeated=asked[topic.name] > 1, validate_only=request.validate_only)
            for topic in {topic.name: topic for topic in request.topics}.values()
        ]
    )


def _create(call: Call, asked: _Asked, *, repeated: bool, validate_only: bool) -> _TopicAnswer:
    answer = _TopicAnswer(name=asked.name, error_message=None)
    try:
        error = call.injected_error(asked.name) or call.controller_error()
        if error is not None:
            raise broker_error(error, error.text)
        if repeated:
            raise broker_error(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        topic = call.cluster.create_topic(
            asked.name,
            asked.num_partitions,
            asked.replication_factor,
            assignments=_assignments(asked),
            configs={config.name: config.value for config in asked.configs},
            validate_only=validate_only,
        )
    except BrokerError as refusal:
        answer.error_code = refusal.error
        answer.error_message = refusal.context
        return answer
    answer.topic_id = topic.id
    answer.num_partitions = len(topic.partitions)
    answer.replication_factor = len(topic.partitions[0].replicas)
    answer.configs = _configs(topic)
    return answer


def _assignments(asked: _Asked) -> Sequence[Sequence[int]]:
    if not asked.assignments:
        return ()
    if asked.num_partitions != -1 or asked.replication_factor != -1:
        reason = "A manual partition assignment was specified, but numPartitions or replicationFactor was not set to -1."
        raise broker_error(ErrorCode.INVALID_REQUEST, reason)
    replicas = {assignment.partition_index: assignment.broker_ids for assignment in asked.assignments}
    if sorted(replicas) != list(range(len(asked.assignments))):
        raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence")
    return [replicas[index] for index in sorted(replicas)]


def _configs(topic: Topic) -> list[_TopicAnswer.CreatableTopicConfigs]:
    return [
        _TopicAnswer.CreatableTopicConfigs(
            name=name,
            value=topic.config(name),
            config_source=_DYNAMIC_TOPIC_CONFIG if name in topic.configs else _DEFAULT_CONFIG,
        )
        for name in TOPIC_CONFIGS
    ]

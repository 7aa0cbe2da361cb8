"""CreateTopics 0-7: topics by number of partitions and replicas, or with assigned replicas, and their configurations.

Left out: quotas, creation policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from kafkawire.errors import BrokerError, ErrorCode, broker_error
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.configs.definitions import Source
from mockbroker.state.topics import Topic

__all__ = ["MOST_RECORDS", "handle"]


MOST_RECORDS = 10_000
"""Most records that a controller writes for one request: one for each topic, partition and configuration."""

_METADATA_LOG = "__cluster_metadata"
_Asked = CreateTopicsRequest.CreatableTopic
_TopicAnswer = CreateTopicsResponse.CreatableTopicResult
_Config = _TopicAnswer.CreatableTopicConfigs


def handle(context: RequestContext, request: CreateTopicsRequest, now: float) -> Answer:
    too_many = _too_many(context, request)
    if too_many is not None:
        refused = partial(_TopicAnswer, error_code=ErrorCode.POLICY_VIOLATION, error_message=too_many, configs=[])
        return CreateTopicsResponse(topics=[refused(name=topic.name) for topic in request.topics])
    asked = Counter(topic.name for topic in request.topics)
    return CreateTopicsResponse(
        topics=[
            _create(context, topic, repeated=asked[topic.name] > 1, validate_only=request.validate_only)
            for topic in {topic.name: topic for topic in request.topics}.values()
        ]
    )


def _too_many(context: RequestContext, request: CreateTopicsRequest) -> str | None:
    """Reason to refuse the whole request, which a controller gives for too many partitions at once."""
    default = int(context.cluster.config["num.partitions"])
    wanted = [
        len(topic.assignments) or (default if topic.num_partitions == -1 else topic.num_partitions) for topic in request.topics
    ]
    partitions = sum(max(number, 0) for number in wanted)
    if partitions > MOST_RECORDS:
        return "Excessively large number of partitions per request."
    if partitions + len(wanted) + sum(len(topic.configs) for topic in request.topics) > MOST_RECORDS:
        return "Unable to perform excessively large batch operation."
    return None


def _create(context: RequestContext, asked: _Asked, *, repeated: bool, validate_only: bool) -> _TopicAnswer:
    answer = _TopicAnswer(name=asked.name, error_message=None, configs=[])
    try:
        error = context.injected_error(asked.name) or context.controller_error()
        if error is not None:
            raise broker_error(error, error.text)
        if repeated:
            raise broker_error(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        if asked.name == _METADATA_LOG and context.cluster.profile.kraft:
            raise broker_error(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {_METADATA_LOG} is prohibited.")
        topic = context.cluster.create_topic(
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
    answer.configs = _configs(context, topic)
    return answer


def _assignments(asked: _Asked) -> Sequence[Sequence[int]]:
    if not asked.assignments:
        return ()
    if asked.replication_factor != -1:
        reason = "A manual partition assignment was specified, but replication factor was not set to -1."
        raise broker_error(ErrorCode.INVALID_REQUEST, reason)
    if asked.num_partitions != -1:
        reason = "A manual partition assignment was specified, but numPartitions was not set to -1."
        raise broker_error(ErrorCode.INVALID_REQUEST, reason)
    replicas: dict[int, Sequence[int]] = {}
    for assignment in asked.assignments:
        index = assignment.partition_index
        if index in replicas:
            reason = f"Found multiple manual partition assignments for partition {index}"
            raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        replicas[index] = assignment.broker_ids
    if sorted(replicas) != list(range(len(replicas))):
        reason = "partitions should be a consecutive 0-based integer sequence"
        raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    return [replicas[index] for index in sorted(replicas)]


def _configs(context: RequestContext, topic: Topic) -> list[_Config]:
    told = _as_controllers_tell if context.cluster.profile.kraft else _as_brokers_tell
    return [told(context, topic, name) for name in context.cluster.config.known.topic]


def _as_brokers_tell(context: RequestContext, topic: Topic, name: str) -> _Config:
    """Describe a configuration as brokers do: a value given in a coarser unit does not count as its source."""
    given = topic.given(name, context.broker.id)
    return _Config(name=name, value=topic.config(name), config_source=given[0].source if given else Source.DEFAULT)


def _as_controllers_tell(context: RequestContext, topic: Topic, name: str) -> _Config:
    """Describe a configuration as KRaft controllers do: its source counts in any unit, and even -1 is multiplied by it."""
    config = context.cluster.config
    product = None if name in topic.configs else config.product(config.known.topic[name].synonym or "")
    value = topic.config(name) if product is None else str(product)
    return _Config(name=name, value=value, config_source=topic.config_source(name, context.broker.id))

"""DescribeConfigs 0-4: the configuration of topics and brokers, with the source of each value; sensitive values are null.

Left out: documentation (always null), loggers, client metrics, groups.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkawire.addresses import format_address
from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.broker.answers import Answer
from mockbroker.broker.config_changes import ResourceType
from mockbroker.broker.context import RequestContext
from mockbroker.configs.definitions import ConfigDefinition, ConfigValue, Source
from mockbroker.state.topics import Topic, check_topic_name

__all__ = ["handle"]


_TYPES = {*ResourceType, 8, 16, 32}
"""Types that do not make Kafka refuse the request: the mock's, and loggers, client metrics and groups."""

_OF_ALL_SINCE = (1, 1)
_KNOWS_TOPICS_SINCE = (2, 0)
"""Version since which a missing topic is an error; before, it was described as it would be."""

_NO_NULLS_SINCE = (2, 7)
"""Version since which the message is empty in place of null, and no value counts as default in version 0."""

_Asked = DescribeConfigsRequest.Resource
_Result = DescribeConfigsResponse.Result
_Config = _Result.ResourceResult


def handle(context: RequestContext, request: DescribeConfigsRequest, now: float) -> Answer:
    if not _TYPES.issuperset(asked.resource_type for asked in request.resources):  # Kafka refuses the whole request
        return DescribeConfigsResponse(results=[_refused(asked) for asked in request.resources])
    return DescribeConfigsResponse(
        results=[_describe(context, asked, synonyms=request.include_synonyms) for asked in request.resources]
    )


def _refused(asked: _Asked) -> _Result:
    error = ErrorCode.INVALID_REQUEST
    return _Result(
        error_code=error, error_message=error.text, resource_type=asked.resource_type, resource_name=asked.resource_name
    )


def _describe(context: RequestContext, asked: _Asked, *, synonyms: bool) -> _Result:
    nothing = None if context.cluster.profile.version < _NO_NULLS_SINCE else ""
    result = _Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=nothing)
    error = context.injected_error(asked.resource_name)
    if error is not None:
        result.error_code, result.error_message = error, error.text
    elif asked.resource_type == ResourceType.TOPIC:
        _describe_topic(context, asked, result)
    elif asked.resource_type == ResourceType.BROKER and asked.resource_name in _own_names(context):
        result.configs = _broker_configs(context) if asked.resource_name else _cluster_configs(context)
    else:
        result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, _why_not(context, asked)
    if asked.configuration_keys:
        result.configs = [config for config in result.configs if config.name in asked.configuration_keys]
    if not synonyms:
        for config in result.configs:
            config.synonyms = []
    return result


def _why_not(context: RequestContext, asked: _Asked) -> str:
    if asked.resource_type != ResourceType.BROKER:
        return ErrorCode.INVALID_REQUEST.text
    if not asked.resource_name.isdecimal():
        return f"Broker id must be an integer, but it is: {asked.resource_name}"
    own = " or ".join(name or "empty string" for name in _own_names(context))
    return f"Unexpected broker id, expected {own}, but received {asked.resource_name}"


def _own_names(context: RequestContext) -> Sequence[str]:
    """Resource names that a broker describes: its id, and since 1.1 the empty name for all brokers (KIP-226)."""
    own = str(context.broker.id)
    return (own, "") if context.cluster.profile.version >= _OF_ALL_SINCE else (own,)


def _describe_topic(context: RequestContext, asked: _Asked, result: _Result) -> None:
    try:
        check_topic_name(asked.resource_name)
    except BrokerError as refusal:
        result.error_code, result.error_message = refusal.error, refusal.context
        return
    topic = context.cluster.find_topic(asked.resource_name)
    if not isinstance(topic, Topic) and context.cluster.profile.version < _KNOWS_TOPICS_SINCE:
        topic = Topic(asked.resource_name, ZERO_UUID, {}, context.cluster.config)
    if isinstance(topic, Topic):
        for name, definition in context.cluster.config.known.topic.items():
            given = topic.given(name, context.broker.id)
            result.configs.append(_config(context, name, definition, given, given[0].value if given else topic.config(name)))
    else:
        result.error_code = topic


def _broker_configs(context: RequestContext) -> list[_Config]:
    broker = context.broker
    listener = f"PLAINTEXT://{format_address(broker.host, broker.port)}"
    own = {
        "broker.id": str(broker.id),
        "node.id": str(broker.id),
        "advertised.listeners": listener,
        "listeners": listener,
        **({} if broker.rack is None else {"broker.rack": broker.rack}),
    }
    configs = []
    for name, definition in context.cluster.config.known.broker.items():
        given = context.cluster.config.given(name, broker.id)
        if name in own:
            given = [ConfigValue(name, own[name], Source.STATIC), *given]
        configs.append(
            _config(context, name, definition, given, own.get(name) or context.cluster.config.shown(name, broker.id))
        )
    return configs


def _cluster_configs(context: RequestContext) -> list[_Config]:
    """Configurations that were changed for all brokers while they ran."""
    config = context.cluster.config
    return [
        _config(context, name, config.known.broker[name], [ConfigValue(name, value, Source.ALL_BROKERS)], value)
        for name, value in config.dynamic(None).items()
        if name in config.known.broker
    ]


def _config(
    context: RequestContext, name: str, definition: ConfigDefinition, given: list[ConfigValue], value: str | None
) -> _Config:
    """Describe one configuration. given: the values that it was given, strongest first."""
    source = given[0].source if given else Source.DEFAULT
    return _Config(
        name=name,
        value=None if definition.sensitive else value,
        read_only=definition.read_only,
        is_default=context.version == 0 and context.cluster.profile.version < _NO_NULLS_SINCE and source is Source.DEFAULT,
        config_source=source,
        is_sensitive=definition.sensitive,
        synonyms=[_Config.Synonym(name=one.name, value=one.value, source=one.source) for one in given],
        config_type=definition.type,
        documentation=None,
    )

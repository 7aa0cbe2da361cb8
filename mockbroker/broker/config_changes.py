"""Changes to the configuration of topics and brokers, for AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import BrokerError, ErrorCode, broker_error
from mockbroker.configs.definitions import ConfigDefinition, ConfigType, KnownConfigs
from mockbroker.configs.values import check_broker_configs, check_topic_configs

if TYPE_CHECKING:
    from mockbroker.broker.context import RequestContext

__all__ = ["Change", "Operation", "ResourceType", "Revised", "change_configs", "revise"]


class ResourceType(IntEnum):
    """Types of resource with a configuration. The mock has none of loggers (8), client metrics (16) and groups (32)."""

    TOPIC = 2
    BROKER = 4


class Operation(IntEnum):
    """Operations of IncrementalAlterConfigs on a value (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """Change of one configuration that a request names."""

    name: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True)
class _Resource:
    """Configuration of one resource, and the rules for its changes."""

    present: dict[str, str]
    definitions: Mapping[str, ConfigDefinition]
    effective: Callable[[str], str]
    """Returns the value of a configuration that is in effect."""
    check: Callable[[Mapping[str, str]], None]
    """Raises BrokerError for a whole configuration that Kafka refuses."""


class Revised(NamedTuple):
    """Outcome of a change."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def change_configs(
    context: RequestContext, kind: int, name: str, changes: Sequence[Change], *, replace: bool, validate_only: bool
) -> Revised:
    """Change the configuration of a resource; with `replace`, configurations without a change go back to their default."""
    try:
        error = context.injected_error(name)
        if error is not None:
            return Revised(error, error.text)
        _check_form(changes)
        resource = _find(context, kind, name)
        new = revise({} if replace else resource.present, changes, resource.definitions, resource.effective)
        resource.check(new)
    except BrokerError as refusal:
        # Kafka sends no message with errors that it did not foresee.
        return Revised(refusal.error, None if refusal.error is ErrorCode.UNKNOWN_SERVER_ERROR else refusal.context)
    if not validate_only:
        resource.present.clear()
        resource.present.update(new)
    return Revised()


def revise(
    present: Mapping[str, str],
    changes: Sequence[Change],
    definitions: Mapping[str, ConfigDefinition],
    effective: Callable[[str], str],
) -> dict[str, str]:
    """Apply changes to a configuration and return the new one. Raises BrokerError for an operation that does not fit."""
    new = dict(present)
    for name, operation, value in changes:
        match operation:
            case Operation.SET:
                new[name] = value or ""
            case Operation.DELETE:
                new.pop(name, None)
            case Operation.APPEND | Operation.SUBTRACT:
                if name not in definitions or definitions[name].type is not ConfigType.LIST:
                    verb = Operation(operation).name
                    reason = f"Can't {verb} to key {name} because its type is not LIST."
                    raise broker_error(ErrorCode.INVALID_CONFIG, reason)
                new[name] = _combined(effective(name), value or "", add=operation == Operation.APPEND)
            case _:
                raise broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, f"there is no operation {operation}")
    return new


def _combined(old: str, value: str, *, add: bool) -> str:
    parts, named = old.split(",") if old else [], value.split(",")
    kept = [part for part in parts if add or part not in named]
    return ",".join(kept + [part for part in named if add and part not in parts])


def _check_form(changes: Sequence[Change]) -> None:
    if len({change.name for change in changes}) < len(changes):
        raise broker_error(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    empty = [change.name for change in changes if change.value is None and change.operation != Operation.DELETE]
    if empty:
        raise broker_error(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(empty)}")


def _find(context: RequestContext, kind: int, name: str) -> _Resource:
    match kind:
        case ResourceType.TOPIC:
            return _topic(context, name)
        case ResourceType.BROKER:
            return _broker(context, name)
    raise broker_error(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def _topic(context: RequestContext, name: str) -> _Resource:
    if not name:
        raise broker_error(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    topic = context.cluster.topics.get(name)
    if topic is None:
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    known = context.cluster.config.known
    return _Resource(topic.configs, known.topic, topic.config, partial(check_topic_configs, known=known))


def _broker(context: RequestContext, name: str) -> _Resource:
    """Configuration of one broker by its id, or with an empty name of all brokers."""
    if name and not name.lstrip("-").isdigit():
        raise broker_error(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if name and int(name) != context.broker.id:
        reason = f"Unexpected broker id, expected {context.broker.id}, but received {name}"
        raise broker_error(ErrorCode.INVALID_REQUEST, reason)
    configs = context.cluster.config
    broker_id = int(name) if name else None

    def effective(config: str) -> str:
        return next((found.value for found in configs.given(config, broker_id)), "")

    check = partial(_check_broker if name or not configs.has_elr else _check_all_brokers, known=configs.known)
    return _Resource(configs.dynamic(broker_id), configs.known.broker, effective, check)


def _check_broker(new: Mapping[str, str], known: KnownConfigs) -> None:
    fixed = [name for name in new if name in known.broker and known.broker[name].read_only]
    if fixed:
        raise broker_error(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    try:
        check_broker_configs(new, known)
    except BrokerError as refusal:
        raise broker_error(ErrorCode.INVALID_REQUEST, refusal.context) from None


def _check_all_brokers(new: Mapping[str, str], known: KnownConfigs) -> None:
    _check_broker(new, known)
    if "min.insync.replicas" not in new:
        reason = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        raise broker_error(ErrorCode.INVALID_CONFIG, reason)

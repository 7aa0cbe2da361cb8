"""Which values a configuration takes, with the reasons that Kafka gives for refusing others.

Topic configurations are checked in full. Broker configurations are checked by type, and like the topic configuration that
takes its value from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.configs import BROKER_CONFIGS, TOPIC_CONFIGS, ConfigDefinition, ConfigType

__all__ = ["ConfigText", "as_text", "check_broker_configs", "check_topic_configs"]

ConfigText = str | float | bool
"""What a test may give as the value of a configuration; to Kafka all are text."""

Check = Callable[[str], str | None]
"""Why a value of the right type is refused; None if it is not."""

_INT_MAX, _LONG_MAX = 2**31 - 1, 2**63 - 1
_INTEGER = re.compile(r"[+-]?[0-9]+")
_THROTTLED = re.compile(r"[0-9]+:[0-9]+")


def _between(lowest: float, highest: float = _LONG_MAX) -> Check:
    def check(value: str) -> str | None:
        if float(value) < lowest:
            return f"Value must be at least {lowest}"
        return f"Value must be no more than {highest}" if float(value) > highest else None

    return check


def _one_of(*names: str) -> Check:
    reason = f"String must be one of: {', '.join(names)}"
    return lambda value: None if value in names else reason


def _gzip_level(value: str) -> str | None:
    return None if int(value) == -1 or 1 <= int(value) <= 9 else "Value must be between 1 and 9 or equal to -1"


_CHECKS: dict[str, Check] = {
    "cleanup.policy": _one_of("compact", "delete"),
    "compression.gzip.level": _gzip_level,
    "compression.lz4.level": _between(1, 17),
    "compression.type": _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": _between(-131072, 22),
    "delete.retention.ms": _between(0),
    "file.delete.delay.ms": _between(0),
    "flush.messages": _between(1),
    "flush.ms": _between(0),
    "index.interval.bytes": _between(0),
    "local.retention.bytes": _between(-2),
    "local.retention.ms": _between(-2),
    "max.compaction.lag.ms": _between(1),
    "max.message.bytes": _between(0),
    "message.timestamp.after.max.ms": _between(0),
    "message.timestamp.before.max.ms": _between(0),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": _between(0, 1),
    "min.compaction.lag.ms": _between(0),
    "min.insync.replicas": _between(1),
    "retention.ms": _between(-1),
    "segment.bytes": _between(1 << 20),
    "segment.index.bytes": _between(4),
    "segment.jitter.ms": _between(0),
    "segment.ms": _between(1),
}
_BY_SYNONYM = {definition.synonym: name for name, definition in TOPIC_CONFIGS.items()}
_THROTTLE_LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


def as_text(value: ConfigText) -> str:
    """A value as Kafka has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_topic_configs(configs: Mapping[str, str | None]) -> None:
    """Raise INVALID_CONFIG for an unknown name or a value that Kafka refuses."""
    for name in configs:
        if name not in TOPIC_CONFIGS:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    for name, value in configs.items():
        if value is None:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        _check(name, TOPIC_CONFIGS[name], value, _CHECKS.get(name))
        if name in _THROTTLE_LISTS:
            _check_throttled(name, value)
        if name == "remote.storage.enable" and value.lower() == "true":
            reason = (
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
            )
            raise broker_error(ErrorCode.INVALID_CONFIG, reason)


def check_broker_configs(configs: Mapping[str, str]) -> None:
    """Raise INVALID_CONFIG for a value that Kafka refuses. What it does not know may be for plug-ins."""
    for name, value in configs.items():
        if name in BROKER_CONFIGS:
            _check(name, BROKER_CONFIGS[name], value, _CHECKS.get(_BY_SYNONYM.get(name, "")))


def _check(name: str, definition: ConfigDefinition, value: str, check: Check | None) -> None:
    parts = [value]
    if definition.type is ConfigType.LIST:
        parts = [part.strip() for part in value.split(",")] if value else []
    for part in parts:
        shown = part
        reason = _wrong_type(definition.type, part)
        if reason is None and check is not None:
            reason = check(part.strip())
            shown = str(float(part)) if definition.type is ConfigType.DOUBLE else part.strip()
        if reason is not None:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Invalid value {shown} for configuration {name}: {reason}")


def _wrong_type(kind: ConfigType, value: str) -> str | None:
    match kind:
        case ConfigType.BOOLEAN:
            return None if value.strip().lower() in ("true", "false") else "Expected value to be either true or false"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            limit = {ConfigType.INT: _INT_MAX, ConfigType.LONG: _LONG_MAX}.get(kind, 2**15 - 1)
            fits = _INTEGER.fullmatch(value.strip()) is not None and -limit - 1 <= int(value) <= limit
            return None if fits else f"Not a number of type {kind.name}"
        case ConfigType.DOUBLE:
            try:
                float(value)
            except ValueError:
                return "Not a number of type DOUBLE"
    return None


def _check_throttled(name: str, value: str) -> None:
    parts = [part.strip() for part in value.split(",")] if value.strip() else []
    if value.strip() != "*" and not all(map(_THROTTLED.fullmatch, parts)):
        reason = (
            f"Invalid value [{', '.join(parts)}] for configuration {name}: {name} must be the literal '*' or a list of "
            "replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )
        raise broker_error(ErrorCode.INVALID_CONFIG, reason)

"""Checks of configuration values, with the reasons that Kafka gives for refusing them.

Valid values were recorded with the configurations, in the words of Kafka's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.configs.definitions import ConfigDefinition, ConfigType, KnownConfigs, broker_config_names

__all__ = ["ConfigText", "as_text", "check_broker_configs", "check_names", "check_topic_configs"]

ConfigText = str | float | bool
"""Types of a configuration value in tests; Kafka takes all as text."""

Check = Callable[[str], str | None]
"""Returns the reason why a value of the right type is refused, or None."""

_INT_MAX, _LONG_MAX = 2**31 - 1, 2**63 - 1
_RANGE = re.compile(r"\[(-?[0-9]+),\.\.\.(?:,([0-9]+))?\](?: or (-?[0-9]+))?")
_LIST = re.compile(r"\[([^][.]+)\]")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_THROTTLED = re.compile(r"[0-9]+:[0-9]+")


@cache
def _check_of(valid: str) -> Check | None:
    """Check for the valid values that Kafka's words describe; None for words that are not understood, or mean any value."""
    if (limits := _RANGE.fullmatch(valid)) is not None:
        lowest, highest, besides = limits.groups()
        return _between(float(lowest), float(highest or _LONG_MAX), besides)
    if (names := _LIST.fullmatch(valid)) is not None:
        return _one_of(names[1].split(", "))
    return None


def _between(lowest: float, highest: float, besides: str | None) -> Check:
    def check(value: str) -> str | None:
        if lowest <= float(value) <= highest or value == besides:
            return None
        if besides is not None:
            return f"Value must be between {lowest:.0f} and {highest:.0f} or equal to {besides}"
        if float(value) < lowest:
            return f"Value must be at least {lowest:.0f}"
        return f"Value must be no more than {highest:.0f}"

    return check


def _one_of(names: Sequence[str]) -> Check:
    reason = f"String must be one of: {', '.join(names)}"
    return lambda value: None if value in names else reason


_THROTTLE_LISTS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


def as_text(value: ConfigText) -> str:
    """Convert a value to Kafka's text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_topic_configs(configs: Mapping[str, str | None], known: KnownConfigs) -> None:
    """Raise INVALID_CONFIG for an unknown name or a value that Kafka refuses."""
    for name in configs:
        if name not in known.topic:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    for name, value in configs.items():
        if value is None:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        _check(name, known.topic[name], value)
        if name in _THROTTLE_LISTS:
            _check_throttled(name, value)
        if name == "remote.storage.enable" and value.lower() == "true":
            reason = (
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
            )
            raise broker_error(ErrorCode.INVALID_CONFIG, reason)


def check_names(configs: Iterable[str]) -> None:
    """Raise ValueError for a broker configuration that no version has, and which would silently do nothing."""
    for name in configs:
        if name not in (known := broker_config_names()):
            close = get_close_matches(name, known, 2)
            hint = f"; do you mean {' or '.join(close)}?" if close else ""
            raise ValueError(f"no version of Kafka has a broker configuration {name!r}{hint}")


def check_broker_configs(configs: Mapping[str, str], known: KnownConfigs) -> None:
    """Raise INVALID_CONFIG for a value that Kafka refuses. Unknown names pass: they may be for plug-ins."""
    for name, value in configs.items():
        if name in known.broker:
            _check(name, known.broker[name], value)


def _check(name: str, definition: ConfigDefinition, value: str) -> None:
    check = _check_of(definition.valid)
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

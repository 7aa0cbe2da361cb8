"""Configurations: what topics and brokers can be told, from the list recorded in configs.json, and where a value comes from.

Of the newest release, whatever the version of the cluster. Left out: documentation, and what is given in coarser units
(`log.retention.hours` does not change `retention.ms`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

__all__ = ["BROKER_CONFIGS", "TOPIC_CONFIGS", "BrokerConfigs", "ConfigDefinition", "ConfigType", "ConfigValue", "Source"]


class ConfigType(IntEnum):
    """What kind of value a configuration has, as DescribeConfigs numbers it (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Source(IntEnum):
    """Where a value comes from, strongest first (KIP-226)."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC = 4
    DEFAULT = 5


class ConfigDefinition(NamedTuple):
    """One configuration. `synonym` is the broker configuration that a topic without its own takes the value from."""

    type: ConfigType
    default: str | None
    read_only: bool = False
    sensitive: bool = False
    synonym: str | None = None


class ConfigValue(NamedTuple):
    """A value, the name under which it was given, and where."""

    name: str
    value: str
    source: Source


def _load() -> tuple[dict[str, ConfigDefinition], dict[str, ConfigDefinition]]:
    recorded = json.loads(Path(__file__).with_name("configs.json").read_text())
    topic = {
        name: ConfigDefinition(ConfigType(kind), default, synonym=synonym)
        for name, (kind, default, synonym) in recorded["topic"].items()
    }
    broker = {
        name: ConfigDefinition(ConfigType(kind), default, read_only, sensitive)
        for name, (kind, default, read_only, sensitive) in recorded["broker"].items()
    }
    return topic, broker


TOPIC_CONFIGS, BROKER_CONFIGS = _load()
_DEFAULTS = {name: known.default for name, known in BROKER_CONFIGS.items() if known.default is not None}

# Where the mock is configured otherwise than Kafka is by default: as many replicas as three brokers can have (capped at their
# number, so that a stopped broker loses no partition), and groups that start at once.
_MOCK_STATIC = {"default.replication.factor": "3", "group.initial.rebalance.delay.ms": "0"}


# Names for the same thing in coarser units, which DescribeConfigs lists behind the fine one.
_COARSER = {
    "log.flush.interval.ms": ("log.flush.scheduler.interval.ms",),
    "log.retention.ms": ("log.retention.minutes", "log.retention.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.hours",),
    "log.roll.ms": ("log.roll.hours",),
}


class BrokerConfigs(Mapping[str, str]):
    """What the brokers of a cluster are configured with: at their start, all of them while they run, or one of them.

    As a mapping it gives the values that count for all brokers.
    """

    __slots__ = ("_of_all", "_of_one", "_static")

    def __init__(self, static: Mapping[str, str]) -> None:
        self._static = {**_MOCK_STATIC, **static}
        # A new cluster of Kafka 4.1 and later sets this for the sake of eligible leader replicas (KIP-966).
        self._of_all = {} if "min.insync.replicas" in static else {"min.insync.replicas": "1"}
        self._of_one: dict[int, dict[str, str]] = {}

    def __getitem__(self, name: str) -> str:
        """The value; KeyError where there is none."""
        for values in (self._of_all, self._static, _DEFAULTS):
            if name in values:
                return values[name]
        raise KeyError(name)

    def __setitem__(self, name: str, value: str) -> None:
        """Configure all brokers as if they had been started so."""
        self._static[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter({**_DEFAULTS, **self._static, **self._of_all})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def given(self, name: str, broker_id: int | None = None) -> list[ConfigValue]:
        """Everything that a configuration was given, strongest first; for one broker, or what all have in common."""
        one = {} if broker_id is None else self._of_one.get(broker_id, {})
        sources = (
            (one, Source.BROKER),
            (self._of_all, Source.ALL_BROKERS),
            (self._static, Source.STATIC),
            (_DEFAULTS, Source.DEFAULT),
        )
        names = (name, *_COARSER.get(name, ()))
        found = [ConfigValue(each, values[each], source) for values, source in sources for each in names if each in values]
        return found if any(value.name == name for value in found) else []

    def dynamic(self, broker_id: int | None) -> dict[str, str]:
        """What was changed while the brokers ran: of one broker, or of all. To be changed in place."""
        return self._of_all if broker_id is None else self._of_one.setdefault(broker_id, {})

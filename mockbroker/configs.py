"""Configurations: what topics and brokers can be told, from the list recorded in configs.json, and where a value comes from.

Of the newest release, whatever the version of the cluster. Left out: documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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

# What may be given under other names as well, in coarser units: the milliseconds of each. The finest that is given counts.
_UNITS = {
    "log.flush.interval.ms": {"log.flush.scheduler.interval.ms": 1},
    "log.retention.ms": {"log.retention.minutes": 60_000, "log.retention.hours": 3_600_000},
    "log.roll.jitter.ms": {"log.roll.jitter.hours": 3_600_000},
    "log.roll.ms": {"log.roll.hours": 3_600_000},
}
_FINEST = {coarser: finest for finest, units in _UNITS.items() for coarser in units}


def _synonyms(name: str) -> Sequence[str]:
    """The name, and behind it those of the same thing in coarser units."""
    finest = _FINEST.get(name, name)
    names = (finest, *_UNITS.get(finest, ()))
    return names[names.index(name) :]


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
        """The value, from coarser units if it was given in those; KeyError where there is none."""
        for values in (self._of_all, self._static, _DEFAULTS):
            if name in values:
                return values[name]
        for coarser, milliseconds in _UNITS.get(name, {}).items():
            if coarser in self:
                return str(max(int(self[coarser]) * milliseconds, -1))
        raise KeyError(name)

    def __setitem__(self, name: str, value: str) -> None:
        """Configure all brokers as if they had been started so."""
        self._static[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter({**_DEFAULTS, **dict.fromkeys(_UNITS), **self._static, **self._of_all})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def given(self, name: str, broker_id: int | None = None) -> list[ConfigValue]:
        """Everything that a configuration was given, strongest first; for one broker, or what all have in common.

        Coarser units are listed behind it, but do not count as given.
        """
        found = self._given_in_any_unit(name, broker_id)
        return found if any(value.name == name for value in found) else []

    def source(self, name: str, broker_id: int | None = None) -> Source:
        """Where the value comes from, in whatever unit."""
        return next((value.source for value in self._given_in_any_unit(name, broker_id)), Source.DEFAULT)

    def shown(self, name: str, broker_id: int) -> str | None:
        """The value of a broker as it describes itself.

        While a finer unit is changed, Kafka has forgotten what the coarser ones were at its start.
        """
        finest = _FINEST.get(name)
        if finest in self._of_all or finest in self._of_one.get(broker_id, {}):
            return _DEFAULTS.get(name)
        return next((value.value for value in self.given(name, broker_id)), None)

    def _given_in_any_unit(self, name: str, broker_id: int | None) -> list[ConfigValue]:
        one = {} if broker_id is None else self._of_one.get(broker_id, {})
        sources = (
            (one, Source.BROKER),
            (self._of_all, Source.ALL_BROKERS),
            (self._static, Source.STATIC),
            (_DEFAULTS, Source.DEFAULT),
        )
        names = _synonyms(name)
        return [ConfigValue(each, values[each], source) for values, source in sources for each in names if each in values]

    def dynamic(self, broker_id: int | None) -> dict[str, str]:
        """What was changed while the brokers ran: of one broker, or of all. To be changed in place."""
        return self._of_all if broker_id is None else self._of_one.setdefault(broker_id, {})

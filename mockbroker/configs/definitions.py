"""Definitions of the configurations of topics and brokers in each version, from configs.json; values with their sources.

Left out: documentation.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "BrokerConfigs",
    "ConfigDefinition",
    "ConfigType",
    "ConfigValue",
    "KnownConfigs",
    "Source",
    "broker_config_names",
    "known_configs",
]


class ConfigType(IntEnum):
    """Types of configuration values, as DescribeConfigs numbers them (KIP-569)."""

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
    """Sources of a value, strongest first (KIP-226)."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC = 4
    DEFAULT = 5


class ConfigDefinition(NamedTuple):
    """Definition of one configuration."""

    type: ConfigType
    default: str | None
    synonym: str | None
    """Broker configuration from which a topic takes the value if it has none of its own."""
    valid: str
    """Valid values, in the words of Kafka's documentation; empty for all of the type."""
    read_only: bool = False
    sensitive: bool = False


class KnownConfigs(NamedTuple):
    """Configurations of one version, by name."""

    topic: Mapping[str, ConfigDefinition]
    broker: Mapping[str, ConfigDefinition]
    defaults: Mapping[str, str]
    """Default values of broker configurations that have one."""


class ConfigValue(NamedTuple):
    """Value of a configuration, with the name under which it was given and its source."""

    name: str
    value: str
    source: Source


@cache
def known_configs(version: tuple[int, ...]) -> KnownConfigs:
    """Configurations of topics and brokers of a version; versions before the oldest recorded one have its configurations."""
    recorded = _recorded()
    versions = [_number(one) for one in recorded["releases"]]
    wanted = max(version, min(versions))
    topic, broker = _definitions(recorded["topic"], wanted), _definitions(recorded["broker"], wanted)
    return KnownConfigs(topic, broker, {name: one.default for name, one in broker.items() if one.default is not None})


def broker_config_names() -> Collection[str]:
    """Names of the broker configurations of all versions."""
    names: Collection[str] = _recorded()["broker"].keys()
    return names


@cache
def _recorded() -> Any:
    """Contents of configs.json; `tests.real.record_configs` writes and describes it."""
    return json.loads(Path(__file__).with_name("configs.json").read_text(encoding="utf-8"))


def _definitions(recorded: Mapping[str, dict[str, Any]], version: tuple[int, ...]) -> dict[str, ConfigDefinition]:
    """Latest definition of each configuration up to a version. Null stands for a configuration that was removed."""
    found = {}
    for name, changes in recorded.items():
        facts = next((changes[since] for since in reversed(changes) if _number(since) <= version), None)
        if facts is not None:
            kind, *others = facts
            found[name] = ConfigDefinition(ConfigType(kind), *others)
    return found


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


# Configurations that differ from Kafka's defaults: as many replicas as three brokers can have (capped at their number), so that
# a stopped broker loses no partition, and groups that start at once.
_MOCK_STATIC = {"default.replication.factor": "3", "group.initial.rebalance.delay.ms": "0"}

_ELR_SINCE = (4, 1)

# Configurations that may be given under other names too, in coarser units: milliseconds of each. The finest given unit counts.
_UNITS = {
    "log.flush.interval.ms": {"log.flush.scheduler.interval.ms": 1},
    "log.retention.ms": {"log.retention.minutes": 60_000, "log.retention.hours": 3_600_000},
    "log.roll.jitter.ms": {"log.roll.jitter.hours": 3_600_000},
    "log.roll.ms": {"log.roll.hours": 3_600_000},
}
_FINEST = {coarser: finest for finest, units in _UNITS.items() for coarser in units}


def _synonyms(name: str) -> Sequence[str]:
    """Name of a configuration, and behind it the names of its values in coarser units."""
    finest = _FINEST.get(name, name)
    names = (finest, *_UNITS.get(finest, ()))
    return names[names.index(name) :]


class BrokerConfigs(Mapping[str, str]):
    """Configuration of the brokers of a cluster: given at their start, changed for all while they run, or for one broker.

    As a mapping it has the values in effect for all brokers. `known`: the definitions of the version.
    """

    __slots__ = ("_of_all", "_of_one", "_static", "has_elr", "known")

    def __init__(self, static: Mapping[str, str], version: tuple[int, ...]) -> None:
        self.known = known_configs(version)
        self._static = {**_MOCK_STATIC, **static}
        self.has_elr = version >= _ELR_SINCE
        """True if min.insync.replicas is always set for all brokers, as eligible leader replicas need (KIP-966)."""
        self._of_all = {"min.insync.replicas": "1"} if self.has_elr and "min.insync.replicas" not in static else {}
        self._of_one: dict[int, dict[str, str]] = {}

    def __getitem__(self, name: str) -> str:
        """Value in effect, from coarser units if it was given in those. Raises KeyError if there is none."""
        for values in (self._of_all, self._static, self.known.defaults):
            if name in values:
                return values[name]
        product = self.product(name)
        if product is None:
            raise KeyError(name)
        return str(max(product, -1))  # -1 means unlimited in every unit

    def product(self, name: str) -> int | None:
        """Value converted from a coarser unit; None if it was given under this name, or not at all."""
        if any(name in values for values in (self._of_all, self._static, self.known.defaults)):
            return None
        units = _UNITS.get(name, {}).items()
        return next((int(self[coarser]) * milliseconds for coarser, milliseconds in units if coarser in self), None)

    def __setitem__(self, name: str, value: str) -> None:
        """Configure all brokers as if they had been started with the value."""
        self._static[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter({**self.known.defaults, **dict.fromkeys(_UNITS), **self._static, **self._of_all})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def given(self, name: str, broker_id: int | None = None) -> list[ConfigValue]:
        """All values that a configuration was given, strongest first: to one broker, or to all.

        Values in coarser units follow, but alone they do not count: then the list is empty.
        """
        found = self._given_in_any_unit(name, broker_id)
        return found if any(value.name == name for value in found) else []

    def source(self, name: str, broker_id: int | None = None) -> Source:
        """Source of the value, in any unit."""
        return next((value.source for value in self._given_in_any_unit(name, broker_id)), Source.DEFAULT)

    def shown(self, name: str, broker_id: int) -> str | None:
        """Value as a broker describes itself.

        While a finer unit is changed, Kafka shows defaults for the coarser ones.
        """
        finest = _FINEST.get(name)
        if finest in self._of_all or finest in self._of_one.get(broker_id, {}):
            return self.known.defaults.get(name)
        return next((value.value for value in self.given(name, broker_id)), None)

    def _given_in_any_unit(self, name: str, broker_id: int | None) -> list[ConfigValue]:
        one = {} if broker_id is None else self._of_one.get(broker_id, {})
        sources = (
            (one, Source.BROKER),
            (self._of_all, Source.ALL_BROKERS),
            (self._static, Source.STATIC),
            (self.known.defaults, Source.DEFAULT),
        )
        names = _synonyms(name)
        return [ConfigValue(each, values[each], source) for values, source in sources for each in names if each in values]

    def dynamic(self, broker_id: int | None) -> dict[str, str]:
        """Configuration that was changed while the brokers ran: of one broker, or of all. Callers change it in place."""
        return self._of_all if broker_id is None else self._of_one.setdefault(broker_id, {})

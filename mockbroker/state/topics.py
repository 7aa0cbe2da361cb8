"""Topics and their partitions, and which names and which replicas they may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.configs.definitions import ConfigValue, Source
from mockbroker.state.internal_topics import INTERNAL_TOPICS
from mockbroker.state.java import string_hash
from mockbroker.state.log import PartitionLog
from mockbroker.state.producers import ProducerStates

if TYPE_CHECKING:
    from mockbroker.configs.definitions import BrokerConfigs

__all__ = ["NO_LEADER", "Partition", "Topic", "check_replicas", "check_topic_name", "spread_replicas"]

NO_LEADER = -1
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST_NAME = 249


class Partition:
    """One partition: its replicas, its leader and its log."""

    __slots__ = ("index", "leader", "leader_epoch", "log", "producers", "replicas", "topic")

    def __init__(self, topic: Topic, index: int, replicas: Sequence[int], log: PartitionLog) -> None:
        self.topic = topic
        self.index = index
        self.replicas = list(replicas)
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.log = log
        self.producers = ProducerStates()

    def elect(self, leader: int) -> None:
        """Make a broker the leader, in a new epoch, and let waiting fetches see it."""
        self.leader = leader
        self.leader_epoch += 1
        if leader != NO_LEADER:
            self.log.begin_epoch(self.leader_epoch)
        self.log.changed.wake()


class Topic:
    """One topic. `configs` holds what differs from the brokers' configuration."""

    __slots__ = ("_broker_configs", "configs", "id", "name", "partitions")

    def __init__(self, name: str, topic_id: bytes, configs: dict[str, str], broker_configs: BrokerConfigs) -> None:
        self.name = name
        self.id = topic_id
        self.configs = configs
        self.partitions: list[Partition] = []
        self._broker_configs = broker_configs

    @property
    def internal(self) -> bool:
        """Whether brokers keep it for themselves."""
        return self.name in INTERNAL_TOPICS

    def keeper(self, key: str) -> Partition:
        """Partition of an internal topic that keeps a group or a transactional id: by the key's Java hash."""
        return self.partitions[abs(string_hash(key)) % len(self.partitions)]

    def config(self, name: str) -> str:
        """The value of a topic configuration, its own or the brokers'; empty for one that the version does not know."""
        own = self.configs.get(name)
        if own is not None:
            return own
        definition = self._broker_configs.known.topic.get(name)
        if definition is None:
            return ""
        return self._broker_configs.get(definition.synonym or "", definition.default or "")

    def given(self, name: str, broker_id: int | None = None) -> list[ConfigValue]:
        """Everything that a configuration was given, strongest first: here, or to the brokers (or one of them)."""
        synonym = self._broker_configs.known.topic[name].synonym
        found = [] if synonym is None else self._broker_configs.given(synonym, broker_id)
        return [ConfigValue(name, self.configs[name], Source.TOPIC), *found] if name in self.configs else found

    def config_source(self, name: str, broker_id: int | None = None) -> Source:
        """Where the value of a configuration comes from."""
        synonym = self._broker_configs.known.topic[name].synonym
        if name in self.configs:
            return Source.TOPIC
        return Source.DEFAULT if synonym is None else self._broker_configs.source(synonym, broker_id)


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION for what cannot be the name of a topic."""
    reason = None
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > _LONGEST_NAME:
        reason = f"the length of '{name}' is longer than the max allowed length {_LONGEST_NAME}"
    elif not _LEGAL_NAME.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if reason is not None:
        raise broker_error(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def spread_replicas(brokers: Sequence[int], partitions: Iterable[int], replication_factor: int) -> list[list[int]]:
    """Replicas of the partitions with these indexes, in a ring: the first broker leads partition 0, the second partition 1."""
    ring = [*brokers, *brokers]
    return [ring[partition % len(brokers) :][:replication_factor] for partition in partitions]


def check_replicas(replicas: Sequence[int], brokers: Collection[int]) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT for replicas that no partition can have."""
    reason = None
    unknown = next((replica for replica in replicas if replica not in brokers), None)
    twice = next((replica for replica in sorted(replicas) if replicas.count(replica) > 1), None)
    if not replicas:
        reason = "an empty replica list."
    elif unknown is not None:
        reason = f"broker {unknown}, but no such broker is registered."
    elif twice is not None:
        reason = f"the broker {twice} more than once."
    if reason is not None:
        raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {reason}")

"""Topics, their partitions, and the registry of all topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.configs.definitions import ConfigValue, Source
from mockbroker.state.internal_topics import INTERNAL_TOPICS
from mockbroker.state.java import string_hash
from mockbroker.state.log import PartitionLog
from mockbroker.state.producers import ProducerStates

if TYPE_CHECKING:
    from mockbroker.configs.definitions import BrokerConfigs

__all__ = ["NO_LEADER", "Partition", "Topic", "TopicRegistry", "check_topic_name"]

NO_LEADER = -1
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST_NAME = 249


class Partition:
    """One partition: its replicas and its leader, which `Replication` changes, its log and its producers."""

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
        """Make a broker the leader in a new epoch, and wake waiting fetches."""
        self.leader = leader
        self.leader_epoch += 1
        if leader != NO_LEADER:
            self.log.begin_epoch(self.leader_epoch)
        self.log.changed.wake()


class Topic:
    """One topic. `configs` holds the configurations of its own, which replace those of the brokers."""

    __slots__ = ("_broker_configs", "configs", "id", "name", "partitions")

    def __init__(self, name: str, topic_id: bytes, configs: dict[str, str], broker_configs: BrokerConfigs) -> None:
        self.name = name
        self.id = topic_id
        self.configs = configs
        self.partitions: list[Partition] = []
        self._broker_configs = broker_configs

    @property
    def internal(self) -> bool:
        """True if brokers keep the topic for themselves."""
        return self.name in INTERNAL_TOPICS

    def keeper(self, key: str) -> Partition:
        """Partition of an internal topic that keeps a group or a transactional id: by the key's Java hash."""
        return self.partitions[abs(string_hash(key)) % len(self.partitions)]

    def config(self, name: str) -> str:
        """Value of a topic configuration, the topic's or the brokers'; empty if the version does not know it."""
        own = self.configs.get(name)
        if own is not None:
            return own
        definition = self._broker_configs.known.topic.get(name)
        if definition is None:
            return ""
        return self._broker_configs.get(definition.synonym or "", definition.default or "")

    def given(self, name: str, broker_id: int | None = None) -> list[ConfigValue]:
        """All values that a configuration was given, strongest first: of the topic, of one broker, of all brokers."""
        synonym = self._broker_configs.known.topic[name].synonym
        found = [] if synonym is None else self._broker_configs.given(synonym, broker_id)
        return [ConfigValue(name, self.configs[name], Source.TOPIC), *found] if name in self.configs else found

    def config_source(self, name: str, broker_id: int | None = None) -> Source:
        """Source of the value of a configuration."""
        synonym = self._broker_configs.known.topic[name].synonym
        if name in self.configs:
            return Source.TOPIC
        return Source.DEFAULT if synonym is None else self._broker_configs.source(synonym, broker_id)


class TopicRegistry(dict[str, Topic]):
    """Topics of a cluster by name, in the order of their creation. `add` and `remove` alone change it."""

    def __init__(self) -> None:
        super().__init__()
        self._by_id: dict[bytes, Topic] = {}
        self._by_metric: dict[str, str] = {}
        """Names by the form that metrics give them, in which `.` and `_` are equal."""

    def add(self, topic: Topic) -> None:
        self[topic.name] = self._by_id[topic.id] = topic
        self._by_metric[topic.name.replace(".", "_")] = topic.name

    def remove(self, topic: Topic) -> None:
        del self[topic.name], self._by_id[topic.id], self._by_metric[topic.name.replace(".", "_")]

    def find(self, name: str | None, topic_id: bytes) -> Topic | ErrorCode:
        """Find a topic by name, or by id where there is no name."""
        if name:
            return self.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._by_id.get(topic_id, ErrorCode.UNKNOWN_TOPIC_ID)

    def check_new_name(self, name: str) -> None:
        """Raise INVALID_TOPIC_EXCEPTION or TOPIC_ALREADY_EXISTS for a name that no new topic can have."""
        check_topic_name(name)
        if name in self:
            raise broker_error(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._by_metric.get(name.replace(".", "_"))
        if other is not None:
            raise broker_error(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION for a name that no topic can have."""
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

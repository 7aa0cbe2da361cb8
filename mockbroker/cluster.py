"""The cluster as its brokers see it: who is online, which topics there are, who leads what. No IO and no clock.

Handlers and tests act on it through `Cluster`; whoever drives it passes the time in and runs the connections that it wakes.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafkawire.errors import ErrorCode, broker_error
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.configs import BROKER_DEFAULTS, TOPIC_CONFIGS, check_topic_configs
from mockbroker.faults import Faults
from mockbroker.groups import Groups
from mockbroker.journal import Journal
from mockbroker.log import PartitionLog
from mockbroker.producers import ProducerStates
from mockbroker.profiles import LATEST, profile

__all__ = ["NO_LEADER", "Broker", "Cluster", "Partition", "Topic"]

NO_LEADER = -1
_CLUSTER_ID = "bW9ja2Jyb2tlci1jbHVzdA"  # like Kafka's: 16 bytes in base64 without padding
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_OFFSETS_PARTITIONS = 50


@dataclass(slots=True)
class Broker:
    """One broker: its id and the address that it advertises."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    rack: str | None = None
    online: bool = True


class Partition:
    """One partition: its replicas, its leader and its log."""

    __slots__ = ("index", "leader", "leader_epoch", "log", "producers", "replicas", "topic")

    def __init__(self, topic: Topic, index: int, replicas: Sequence[int]) -> None:
        self.topic = topic
        self.index = index
        self.replicas = list(replicas)
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.log = PartitionLog()
        self.producers = ProducerStates()

    def elect(self, leader: int) -> None:
        """Make a broker the leader, in a new epoch, and let waiting fetches see it."""
        self.leader = leader
        self.leader_epoch += 1
        self.log.changed.wake()


class Topic:
    """One topic. `configs` holds what differs from the defaults."""

    __slots__ = ("configs", "id", "name", "partitions")

    def __init__(self, name: str, topic_id: bytes, configs: dict[str, str]) -> None:
        self.name = name
        self.id = topic_id
        self.configs = configs
        self.partitions: list[Partition] = []

    def config(self, name: str) -> str:
        """The value of a topic configuration, or its default."""
        return self.configs.get(name, TOPIC_CONFIGS[name].default)


class Cluster:
    """Brokers, topics, groups, faults and journal of one mock cluster.

    brokers: how many; ids count from 1. version: the Kafka version to imitate. config: broker configurations by Kafka's names.
    wall_clock_offset: seconds to add to the `now` of the driver to get the time since the epoch (for LogAppendTime).
    Refusals raise BrokerError with Kafka's code; an unknown version or no broker ValueError.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        version: str = LATEST,
        config: Mapping[str, str] | None = None,
        wall_clock_offset: float = 0.0,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster of {brokers} brokers: there must be one at least")
        self.profile = profile(version)
        self.cluster_id = _CLUSTER_ID
        self.config = {**BROKER_DEFAULTS, **(config or {})}
        self.wall_clock_offset = wall_clock_offset
        self.brokers = {number: Broker(number) for number in range(1, brokers + 1)}
        self.topics: dict[str, Topic] = {}
        self.groups = Groups()
        self.faults = Faults()
        self.journal = Journal()
        self._topics_by_id: dict[bytes, Topic] = {}
        self._topics_made = 0
        self._producer_ids = 0

    def wall_clock_ms(self, now: float) -> int:
        return int((now + self.wall_clock_offset) * 1000)

    # Brokers

    def online_brokers(self) -> list[Broker]:
        return [broker for broker in self.brokers.values() if broker.online]

    @property
    def controller(self) -> Broker | None:
        """The online broker with the lowest id."""
        return next(iter(self.online_brokers()), None)

    def coordinator(self, key: str) -> Broker | None:
        """The coordinator of a group or transactional id, found as Kafka does: by the key's Java hash, over 50 partitions."""
        online = self.online_brokers()
        return online[_java_hash(key) % _OFFSETS_PARTITIONS % len(online)] if online else None

    def stop_broker(self, broker_id: int) -> None:
        """Take a broker offline: what it led goes to the next replica that is online, or is without leader."""
        self.brokers[broker_id].online = False
        for partition in self._all_partitions():
            if partition.leader == broker_id:
                partition.elect(self._first_online(partition.replicas))

    def start_broker(self, broker_id: int) -> None:
        """Bring a broker back: it leads only what had no leader, as Kafka before its preferred election."""
        self.brokers[broker_id].online = True
        for partition in self._all_partitions():
            if partition.leader == NO_LEADER and broker_id in partition.replicas:
                partition.elect(broker_id)

    def move_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Make a broker the leader of a partition, and a replica if it was none; NO_LEADER leaves the partition without."""
        moved = self.partition(topic, partition)
        if broker_id != NO_LEADER and not self._broker(broker_id).online:
            raise broker_error(
                ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is stopped and cannot lead {topic}-{partition}"
            )
        if broker_id != NO_LEADER and broker_id not in moved.replicas:
            moved.replicas = [broker_id, *moved.replicas[1:]]
        moved.elect(broker_id)

    def in_sync_replicas(self, partition: Partition) -> list[int]:
        """The replicas that are online; if none is, the one that was last (Kafka never empties the set)."""
        online = [replica for replica in partition.replicas if self.brokers[replica].online]
        return online or partition.replicas[:1]

    def _broker(self, broker_id: int) -> Broker:
        if broker_id not in self.brokers:
            raise broker_error(ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id}, only {list(self.brokers)}")
        return self.brokers[broker_id]

    def _first_online(self, replicas: Iterable[int]) -> int:
        return next((replica for replica in replicas if self.brokers[replica].online), NO_LEADER)

    # Topics

    def topic(self, name: str) -> Topic:
        topic = self.topics.get(name)
        if topic is None:
            raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}, only {sorted(self.topics)}")
        return topic

    def find_topic(self, name: str | None, topic_id: bytes = ZERO_UUID) -> Topic | ErrorCode:
        """The topic that a request names, by id where it has no name, or the error."""
        if name:
            return self.topics.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._topics_by_id.get(topic_id, ErrorCode.UNKNOWN_TOPIC_ID)

    def partition(self, topic: str, index: int) -> Partition:
        partitions = self.topic(topic).partitions
        if not 0 <= index < len(partitions):
            raise broker_error(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic!r} has partitions 0 to {len(partitions) - 1}, not {index}"
            )
        return partitions[index]

    def led_partition(self, broker: Broker, topic: Topic, index: int, leader_epoch: int = -1) -> Partition | ErrorCode:
        """The partition if this broker leads it in the epoch that the client believes in (-1: any), else the error."""
        if not 0 <= index < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partition = topic.partitions[index]
        if leader_epoch not in (-1, partition.leader_epoch):
            older = leader_epoch < partition.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
        return partition if partition.leader == broker.id else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        assignments: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str | None] | None = None,
        validate_only: bool = False,
    ) -> Topic:
        """Create a topic. -1 means the broker's default (KIP-464); `assignments` has the replicas of each partition instead."""
        self._check_name(name)
        check_topic_configs(configs or {})
        replicas = self._check_assignments(assignments) if assignments else self._assign(partitions, replication_factor)
        self._topics_made += 1
        # Deterministic, so that simulations repeat; never the same again when a topic is created anew.
        topic_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {self._topics_made}").bytes
        topic = Topic(name, topic_id, {key: value for key, value in (configs or {}).items() if value is not None})
        topic.partitions = [Partition(topic, index, chosen) for index, chosen in enumerate(replicas)]
        if not validate_only:
            for partition in topic.partitions:
                partition.elect(self._first_online(partition.replicas))
            self.topics[name] = topic
            self._topics_by_id[topic_id] = topic
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records and committed offsets; waiting fetches of it are answered."""
        topic = self.topic(name)
        del self.topics[name]
        del self._topics_by_id[topic.id]
        self.groups.forget_topic(name)
        for partition in topic.partitions:
            partition.elect(NO_LEADER)

    def _check_name(self, name: str) -> None:
        if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
            raise broker_error(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {name!r}")
        if name in self.topics:
            raise broker_error(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        collision = name.replace(".", "_")  # metric names do not tell the two apart
        if any(other.replace(".", "_") == collision for other in self.topics):
            raise broker_error(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with an existing topic.")

    def _assign(self, partitions: int, replication_factor: int) -> list[list[int]]:
        """Replicas in a ring: broker 1 leads partition 0, broker 2 partition 1 and so on."""
        online = [broker.id for broker in self.online_brokers()]
        if partitions == -1:
            partitions = int(self.config["num.partitions"])
        if replication_factor == -1:
            replication_factor = min(int(self.config["default.replication.factor"]), len(online))
        if partitions < 1:
            raise broker_error(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        if replication_factor < 1:
            raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
        if replication_factor > len(online):
            reason = (
                f"Unable to replicate the partition {replication_factor} time(s): only {len(online)} broker(s) are registered."
            )
            raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
        ring = online + online
        return [ring[p % len(online) :][:replication_factor] for p in range(partitions)]

    def _check_assignments(self, assignments: Sequence[Sequence[int]]) -> list[list[int]]:
        for replicas in assignments:
            if not replicas or len(set(replicas)) != len(replicas) or not set(replicas) <= set(self.brokers):
                raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Replicas {list(replicas)} are not distinct brokers.")
        return [list(replicas) for replicas in assignments]

    def _all_partitions(self) -> Iterable[Partition]:
        return (partition for topic in self.topics.values() for partition in topic.partitions)

    # Producers

    def next_producer_id(self) -> int:
        self._producer_ids += 1
        return self._producer_ids - 1


def _java_hash(text: str) -> int:
    """`String.hashCode() & 0x7fffffff`."""
    value = 0
    utf16 = text.encode("utf-16-be")
    for at in range(0, len(utf16), 2):
        value = 31 * value + (utf16[at] << 8 | utf16[at + 1]) & 0xFFFFFFFF
    return value & 0x7FFFFFFF

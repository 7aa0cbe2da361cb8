"""State of a cluster: its brokers, its topics and their partitions, its timers. No IO and no clock.

Handlers and tests act on it through `Cluster`. A driver passes the time in and serves the connections that it wakes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence

from kafkawire.errors import ErrorCode, broker_error
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.arguments import Seconds, check_argument
from mockbroker.configs.definitions import BrokerConfigs
from mockbroker.configs.values import ConfigText, as_text, check_broker_configs, check_names, check_topic_configs
from mockbroker.profiles import LATEST, profile
from mockbroker.state.brokers import Broker, Brokers
from mockbroker.state.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC
from mockbroker.state.listener import ClusterListener
from mockbroker.state.log import PartitionLog
from mockbroker.state.placement import check_assignments, place_replicas
from mockbroker.state.replication import Replication
from mockbroker.state.store import MemoryStore, Store
from mockbroker.state.timers import Timers
from mockbroker.state.topics import Partition, Topic, TopicRegistry

__all__ = ["Cluster"]

_MOST_PARTITIONS = 100_000
"""Most partitions of a topic. Kafka's controller takes 10,000 in one request; so many take the mock about a second."""

_CLUSTER_ID = "bW9ja2Jyb2tlci1jbHVzdA"  # like Kafka's: 16 bytes in base64 without padding


class Cluster:
    """Brokers and topics of one mock cluster.

    brokers: how many; ids count from `first_broker_id`. version: the Kafka version to imitate. config: broker configurations by
    Kafka's names. racks: of the brokers, in turn. reassignment_seconds: how long a partition takes to move to other
    replicas when a client asks for it. wall_clock_offset: seconds to add to the `now` of the driver to get the time
    since the epoch (for LogAppendTime).
    Refusals raise BrokerError with Kafka's code; an unknown version or no broker ValueError.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        version: str = LATEST,
        config: Mapping[str, ConfigText] | None = None,
        racks: Sequence[str] = (),
        first_broker_id: int = 1,
        reassignment_seconds: float = 0.0,
        wall_clock_offset: float = 0.0,
    ) -> None:
        check_argument("seconds", reassignment_seconds, Seconds)
        self.brokers = Brokers(brokers, first_broker_id, racks)
        self.profile = profile(version)
        self.cluster_id = _CLUSTER_ID
        static = {name: as_text(value) for name, value in (config or {}).items()}
        check_names(static)
        self.config = BrokerConfigs(static, self.profile.version)
        check_broker_configs(static, self.config.known)
        self.wall_clock_offset = wall_clock_offset
        self.store: Store = MemoryStore()
        """Storage of logs and groups."""
        self.topics = TopicRegistry()
        self.timers = Timers()
        """Actions that are due by time. Drivers run them, and everything else that needs the time gets it as `now`."""
        self.listeners: list[ClusterListener] = []
        """Told of stopped brokers, new leaders and deleted topics."""
        self.replication = Replication(self.brokers, self.timers, reassignment_seconds, self.listeners)
        self._topics_made = 0
        self._producer_ids = 0

    def wall_clock_ms(self, now: float) -> int:
        """Milliseconds since the epoch."""
        return int((now + self.wall_clock_offset) * 1000)

    def next_producer_id(self) -> int:
        """Allocate a producer id."""
        self._producer_ids += 1
        return self._producer_ids - 1

    # Brokers

    def add_broker(self) -> Broker:
        """Add a broker with the next id. It leads nothing yet, and the driver gives it an address."""
        return self.brokers.add()

    def remove_broker(self, broker_id: int) -> None:
        """Remove a broker for good. Others take its place in the replicas of partitions, as far as there are any.

        Raises ValueError for the last broker.
        """
        if list(self.brokers) == [broker_id]:
            raise ValueError(f"broker {broker_id} is the last one, and cannot be removed")
        self.brokers.existing(broker_id)
        self.stop_broker(broker_id)
        del self.brokers[broker_id]
        self.replication.broker_removed(broker_id, self._all_partitions())

    def stop_broker(self, broker_id: int) -> None:
        """Take a broker offline: partitions that it led go to the next in-sync replica, or are without leader."""
        self.brokers[broker_id].online = False
        for listener in self.listeners:
            listener.broker_stopped(broker_id)
        self.replication.broker_stopped(broker_id, self._all_partitions())

    def start_broker(self, broker_id: int) -> None:
        """Bring a broker back: it leads only partitions without leader, as Kafka before its preferred election."""
        self.brokers[broker_id].online = True
        self.replication.broker_started(broker_id, self._all_partitions())

    def move_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Make a broker the leader of a partition; NO_LEADER leaves the partition without."""
        self.replication.move_leader(self.partition(topic, partition), broker_id)

    # Coordinators

    def coordinator(self, key: str, topic: str = OFFSETS_TOPIC) -> Broker | None:
        """Coordinator of a group, or of a transactional id with its topic: the leader of the partition that keeps it."""
        return self.brokers.get(self.coordinating_partition(key, topic).leader)

    def coordinating_partition(self, key: str, topic: str = OFFSETS_TOPIC) -> Partition:
        """Partition that keeps a group or a transactional id. Creates the internal topic if there is none yet."""
        return (self.topics.get(topic) or self.auto_create_topic(topic)).keeper(key)

    def move_coordinator(self, key: str, broker_id: int, topic: str = OFFSETS_TOPIC) -> None:
        """Make a broker the coordinator of a group or transactional id, and of all that the same partition keeps."""
        self.move_leader(topic, self.coordinating_partition(key, topic).index, broker_id)

    # Topics

    def topic(self, name: str) -> Topic:
        """Find a topic by name. Raises UNKNOWN_TOPIC_OR_PARTITION."""
        topic = self.topics.get(name)
        if topic is None:
            raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}, only {sorted(self.topics)}")
        return topic

    def find_topic(self, name: str | None, topic_id: bytes = ZERO_UUID) -> Topic | ErrorCode:
        """Find the topic that a request names, by id where it has no name."""
        return self.topics.find(name, topic_id)

    def partition(self, topic: str, index: int) -> Partition:
        """Find a partition. Raises UNKNOWN_TOPIC_OR_PARTITION."""
        partitions = self.topic(topic).partitions
        if not 0 <= index < len(partitions):
            raise broker_error(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic!r} has partitions 0 to {len(partitions) - 1}, not {index}"
            )
        return partitions[index]

    def led_partition(
        self, broker: Broker, topic: Topic, index: int, leader_epoch: int = -1, *, or_followed: bool = False
    ) -> Partition | ErrorCode:
        """Find a partition that this broker leads in the epoch that the client believes in (-1: any), or the error.

        or_followed: a partition that the broker has a replica of will do (KIP-392).
        """
        if not 0 <= index < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partition = topic.partitions[index]
        if leader_epoch not in (-1, partition.leader_epoch):
            older = leader_epoch < partition.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
        if partition.leader == broker.id or (or_followed and broker.id in partition.replicas):
            return partition
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

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
        self.topics.check_new_name(name)
        check_topic_configs(configs or {}, self.config.known)
        if assignments:
            replicas = check_assignments(assignments, self.brokers)
        else:
            replicas = self._place_new(partitions, replication_factor)
        self._topics_made += 1
        # Deterministic, so that simulations repeat; never the same again when a topic is created anew.
        topic_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {self._topics_made}").bytes
        topic = Topic(name, topic_id, {key: value for key, value in (configs or {}).items() if value is not None}, self.config)
        topic.partitions = [self._new_partition(topic, index, chosen) for index, chosen in enumerate(replicas)]
        if not validate_only:
            for partition in topic.partitions:
                self.replication.begin(partition)
            self.topics.add(topic)
        return topic

    def auto_create_topic(self, name: str) -> Topic:
        """Create a topic that is used before it was created, as the brokers are configured."""
        internal = INTERNAL_TOPICS.get(name)
        if internal is None:
            return self.create_topic(name)
        partitions = int(self.config[f"{internal.prefix}.num.partitions"])
        replicas = min(int(self.config[f"{internal.prefix}.replication.factor"]), len(self.brokers.online()))
        min_in_sync = self.config.get(f"{internal.prefix}.min.isr")
        configs = internal.configs if min_in_sync is None else {**internal.configs, "min.insync.replicas": min_in_sync}
        return self.create_topic(name, partitions, replicas, configs=configs)

    def add_partitions(
        self, topic: Topic, count: int, assignments: Sequence[Sequence[int]] | None = None, *, validate_only: bool = False
    ) -> None:
        """Add partitions to a topic until it has `count`; `assignments` has the replicas of each new one."""
        present, replication_factor = len(topic.partitions), len(topic.partitions[0].replicas)
        if count == present:
            raise broker_error(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
        if count < present:
            reason = f"The topic {topic.name} currently has {present} partition(s); {count} would not be an increase."
            raise broker_error(ErrorCode.INVALID_PARTITIONS, reason)
        _check_most(count)
        if assignments is None:
            replicas = self._place(range(present, count), replication_factor)
        elif len(assignments) != count - present:
            reason = (
                f"Attempted to add {count - present} additional partition(s), but only {len(assignments)} assignment(s) were "
                "specified."
            )
            raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        else:
            replicas = check_assignments(assignments, self.brokers, replication_factor)
        if not validate_only:
            for index, chosen in enumerate(replicas, start=present):
                partition = self._new_partition(topic, index, chosen)
                self.replication.begin(partition)
                topic.partitions.append(partition)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records; waiting fetches of it are answered."""
        topic = self.topic(name)
        self.topics.remove(topic)
        for partition in topic.partitions:
            self.replication.end(partition)
            self.store.delete_log(topic.id, partition.index)
        for listener in self.listeners:
            listener.topic_deleted(topic)

    def _place_new(self, partitions: int, replication_factor: int) -> list[list[int]]:
        """Choose replicas for all partitions of a new topic; -1 means the default."""
        if partitions == -1:
            partitions = int(self.config["num.partitions"])
        if replication_factor == -1:
            replication_factor = min(int(self.config["default.replication.factor"]), len(self.brokers))
        if partitions < 1:
            raise broker_error(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        _check_most(partitions)
        return self._place(range(partitions), replication_factor)

    def _place(self, partitions: Iterable[int], replication_factor: int) -> list[list[int]]:
        return place_replicas(self.brokers, partitions, replication_factor, on_offline=self.profile.kraft)

    def _new_partition(self, topic: Topic, index: int, replicas: Sequence[int]) -> Partition:
        return Partition(topic, index, replicas, PartitionLog(self.store.log(topic.id, index)))

    def _all_partitions(self) -> Iterable[Partition]:
        return (partition for topic in self.topics.values() for partition in topic.partitions)


def _check_most(partitions: int) -> None:
    if partitions > _MOST_PARTITIONS:
        reason = f"A topic of {partitions} partitions is too large for the mock: it takes {_MOST_PARTITIONS} at most."
        raise broker_error(ErrorCode.INVALID_PARTITIONS, reason)

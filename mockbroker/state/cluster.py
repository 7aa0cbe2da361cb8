"""The cluster as its brokers see it: who is online, which topics there are, who leads what. No IO and no clock.

Handlers and tests act on it through `Cluster`; whoever drives it passes the time in and runs the connections that it wakes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafkawire.errors import ErrorCode, broker_error
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.arguments import Seconds, check_argument
from mockbroker.configs.definitions import BrokerConfigs
from mockbroker.configs.values import ConfigText, as_text, check_broker_configs, check_names, check_topic_configs
from mockbroker.profiles import LATEST, profile
from mockbroker.state.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC
from mockbroker.state.listener import ClusterListener
from mockbroker.state.log import PartitionLog
from mockbroker.state.reassignments import Reassignments
from mockbroker.state.store import MemoryStore, Store
from mockbroker.state.timers import Timers
from mockbroker.state.topics import NO_LEADER, Partition, Topic, check_replicas, check_topic_name, spread_replicas

__all__ = ["Broker", "Cluster"]

_MOST_BROKERS = 1_000
_HIGHEST_BROKER_ID = 1_000_000_000
_MOST_PARTITIONS = 100_000
"""Of a topic. Kafka's controller takes 10,000 in one request; so many take the mock about a second."""

_CLUSTER_ID = "bW9ja2Jyb2tlci1jbHVzdA"  # like Kafka's: 16 bytes in base64 without padding


@dataclass(slots=True)
class Broker:
    """One broker: its id, and the address that it advertises."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    rack: str | None = None
    online: bool = True


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
        if not 1 <= brokers <= _MOST_BROKERS:
            raise ValueError(f"a cluster of {brokers} brokers: there must be one at least, and {_MOST_BROKERS} at most")
        self.profile = profile(version)
        self.cluster_id = _CLUSTER_ID
        static = {name: as_text(value) for name, value in (config or {}).items()}
        check_names(static)
        self.config = BrokerConfigs(static, self.profile.version)
        check_broker_configs(static, self.config.known)
        self.wall_clock_offset = wall_clock_offset
        self.store: Store = MemoryStore()
        """Storage of logs and groups."""
        self.brokers: dict[int, Broker] = {}
        self._racks = racks
        if not 0 <= first_broker_id <= _HIGHEST_BROKER_ID:
            raise ValueError(f"a first broker id of {first_broker_id}: it has to be 0 to {_HIGHEST_BROKER_ID}")
        self.first_broker_id = first_broker_id
        for _ in range(brokers):
            self.add_broker()
        self.topics: dict[str, Topic] = {}
        self.timers = Timers()
        """What the cluster does by itself. Drivers run them, and everything else that needs the time gets it as `now`."""
        check_argument("seconds", reassignment_seconds, Seconds)
        self.reassignments = Reassignments(self.timers, reassignment_seconds, self._place)
        self.listeners: list[ClusterListener] = []
        """Told of stopped brokers, new leaders and deleted topics."""
        self._topics_by_id: dict[bytes, Topic] = {}
        self._topics_by_metric: dict[str, str] = {}
        """Names by what metrics make of them, which do not tell `.` and `_` apart."""
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

    def coordinator(self, key: str, topic: str = OFFSETS_TOPIC) -> Broker | None:
        """The coordinator of a group, or of a transactional id with its topic: who leads the partition that it is kept in."""
        return self.brokers.get(self.coordinating_partition(key, topic).leader)

    def coordinating_partition(self, key: str, topic: str = OFFSETS_TOPIC) -> Partition:
        """Where a group or a transactional id is kept: by the key's Java hash. Creates the topic if there is none yet."""
        return (self.topics.get(topic) or self.auto_create_topic(topic)).keeper(key)

    def move_coordinator(self, key: str, broker_id: int, topic: str = OFFSETS_TOPIC) -> None:
        """Make a broker the coordinator of a group or transactional id, and of what is kept in the same partition."""
        self.move_leader(topic, self.coordinating_partition(key, topic).index, broker_id)

    def add_broker(self) -> Broker:
        """A new broker, with the next id. It leads nothing yet, and whoever drives the cluster gives it an address."""
        broker_id = max(self.brokers, default=self.first_broker_id - 1) + 1
        self.brokers[broker_id] = broker = Broker(broker_id)
        if self._racks:
            broker.rack = self._racks[(broker_id - self.first_broker_id) % len(self._racks)]
        return broker

    def remove_broker(self, broker_id: int) -> None:
        """Let a broker go for good. Others take its place in the replicas of partitions, as far as there are any.

        ValueError for the last broker.
        """
        if list(self.brokers) == [broker_id]:
            raise ValueError(f"broker {broker_id} is the last one, and cannot be removed")
        self._broker(broker_id)
        self.stop_broker(broker_id)
        del self.brokers[broker_id]
        for partition in self._all_partitions():
            if broker_id in partition.replicas:
                spare = [each for each in self.brokers if each not in partition.replicas]
                others = [each for each in partition.replicas if each != broker_id]
                self.set_replicas(partition, (others + spare)[: len(partition.replicas)])

    def stop_broker(self, broker_id: int) -> None:
        """Take a broker offline: what it led goes to the next replica that is online, or is without leader."""
        self.brokers[broker_id].online = False
        for listener in self.listeners:
            listener.broker_stopped(broker_id)
        for partition in self._all_partitions():
            if partition.leader == broker_id:
                self._elect(partition, self._first_online(self._synced(partition)))

    def start_broker(self, broker_id: int) -> None:
        """Bring a broker back: it leads only what had no leader, as Kafka before its preferred election."""
        self.brokers[broker_id].online = True
        for partition in self._all_partitions():
            if partition.leader == NO_LEADER and broker_id in self._synced(partition):
                self._elect(partition, broker_id)

    def move_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Make a broker the leader of a partition, and a replica if it was none; NO_LEADER leaves the partition without."""
        moved = self.partition(topic, partition)
        if broker_id != NO_LEADER and not self._broker(broker_id).online:
            raise broker_error(
                ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is stopped and cannot lead {topic}-{partition}"
            )
        if broker_id != NO_LEADER and broker_id not in moved.replicas:
            moved.replicas = [broker_id, *moved.replicas[1:]]
        self._elect(moved, broker_id)

    def elect_leader(self, partition: Partition, *, unclean: bool) -> ErrorCode | None:
        """Elect the preferred replica, the first; or, unclean, any that is online.

        Returns the error if there is nothing to do, or nobody to elect.
        """
        if unclean:
            if partition.leader != NO_LEADER:
                return ErrorCode.ELECTION_NOT_NEEDED
            chosen = self._first_online(partition.replicas)
            failure = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        else:
            if partition.leader == partition.replicas[0]:
                return ErrorCode.ELECTION_NOT_NEEDED
            chosen = self._first_online(one for one in partition.replicas[:1] if one in self._synced(partition))
            failure = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if chosen == NO_LEADER:
            return failure
        self._elect(partition, chosen)
        return None

    def _elect(self, partition: Partition, leader: int) -> None:
        """Make a broker the leader, or NO_LEADER none, and tell the listeners."""
        partition.elect(leader)
        for listener in self.listeners:
            listener.leader_changed(partition)

    def set_replicas(self, partition: Partition, replicas: Sequence[int]) -> None:
        """Move a partition to other replicas, at once. The leader stays if it can, else the first that is online takes over."""
        check_replicas(replicas, self.brokers)
        self.reassignments.forget(partition)
        self._place(partition, replicas)

    def _place(self, partition: Partition, replicas: Sequence[int]) -> None:
        partition.replicas = list(replicas)
        if partition.leader not in replicas:
            self._elect(partition, self._first_online(replicas))
        partition.log.changed.wake()  # who reads from a follower has to know

    def _synced(self, partition: Partition) -> list[int]:
        """The replicas that have the log."""
        adding = self.reassignments.adding(partition)
        return [replica for replica in partition.replicas if replica not in adding]

    def in_sync_replicas(self, partition: Partition) -> list[int]:
        """The replicas that have the log and are online; if none is, the one that was last (Kafka never empties the set)."""
        synced = self._synced(partition)
        return [replica for replica in synced if self.brokers[replica].online] or synced[:1]

    def offline_replicas(self, partition: Partition) -> list[int]:
        """The replicas on brokers that are stopped."""
        return [replica for replica in partition.replicas if not self.brokers[replica].online]

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

    def led_partition(
        self, broker: Broker, topic: Topic, index: int, leader_epoch: int = -1, *, or_followed: bool = False
    ) -> Partition | ErrorCode:
        """The partition if this broker leads it in the epoch that the client believes in (-1: any), else the error.

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
        self._check_name(name)
        check_topic_configs(configs or {}, self.config.known)
        replicas = self._check_assignments(assignments) if assignments else self._assign(partitions, replication_factor)
        self._topics_made += 1
        # Deterministic, so that simulations repeat; never the same again when a topic is created anew.
        topic_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {self._topics_made}").bytes
        kept = {key: value for key, value in (configs or {}).items() if value is not None}
        topic = Topic(name, topic_id, kept, self.config)
        topic.partitions = [self._new_partition(topic, index, chosen) for index, chosen in enumerate(replicas)]
        if not validate_only:
            for partition in topic.partitions:
                self._elect(partition, self._first_online(partition.replicas))
            self.topics[name] = topic
            self._topics_by_id[topic_id] = topic
            self._topics_by_metric[name.replace(".", "_")] = name
        return topic

    def add_partitions(
        self, topic: Topic, count: int, assignments: Sequence[Sequence[int]] | None = None, *, validate_only: bool = False
    ) -> None:
        """Let a topic have `count` partitions in all; `assignments` has the replicas of each new one."""
        present = len(topic.partitions)
        if count == present:
            raise broker_error(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
        if count < present:
            reason = f"The topic {topic.name} currently has {present} partition(s); {count} would not be an increase."
            raise broker_error(ErrorCode.INVALID_PARTITIONS, reason)
        _check_most(count)
        if assignments is None:
            replicas = self.place_replicas(range(present, count), len(topic.partitions[0].replicas))
        elif len(assignments) != count - present:
            reason = (
                f"Attempted to add {count - present} additional partition(s), but only {len(assignments)} assignment(s) were "
                "specified."
            )
            raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        else:
            replicas = self._check_assignments(assignments, len(topic.partitions[0].replicas))
        if not validate_only:
            for index, chosen in enumerate(replicas, start=present):
                partition = self._new_partition(topic, index, chosen)
                self._elect(partition, self._first_online(chosen))
                topic.partitions.append(partition)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records; waiting fetches of it are answered."""
        topic = self.topic(name)
        del self.topics[name]
        del self._topics_by_id[topic.id]
        del self._topics_by_metric[name.replace(".", "_")]
        for partition in topic.partitions:
            self.reassignments.forget(partition)
            self._elect(partition, NO_LEADER)
            self.store.delete_log(topic.id, partition.index)
        for listener in self.listeners:
            listener.topic_deleted(topic)

    def _new_partition(self, topic: Topic, index: int, replicas: Sequence[int]) -> Partition:
        return Partition(topic, index, replicas, PartitionLog(self.store.log(topic.id, index)))

    def _check_name(self, name: str) -> None:
        check_topic_name(name)
        if name in self.topics:
            raise broker_error(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._topics_by_metric.get(name.replace(".", "_"))
        if other is not None:
            raise broker_error(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")

    def _assign(self, partitions: int, replication_factor: int) -> list[list[int]]:
        if partitions == -1:
            partitions = int(self.config["num.partitions"])
        if replication_factor == -1:
            replication_factor = min(int(self.config["default.replication.factor"]), len(self.brokers))
        if partitions < 1:
            raise broker_error(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        _check_most(partitions)
        return self.place_replicas(range(partitions), replication_factor)

    def place_replicas(self, partitions: Iterable[int], replication_factor: int) -> list[list[int]]:
        """Replicas for the partitions with these indexes: on brokers that are online, then on others, which only KRaft does."""
        online = [broker.id for broker in self.online_brokers()]
        usable = online + [each for each in self.brokers if each not in online] if self.profile.kraft else online
        if replication_factor < 1:
            reason = "Replication factor must be larger than 0, or -1 to use the default value."
            raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
        if replication_factor > len(usable):
            reason = (
                f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
                f"{replication_factor} cannot be reached because only {len(usable)} broker(s) are registered or some brokers "
                "have all their log directories cordoned."
            )
            raise broker_error(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
        placed = spread_replicas(online, partitions, min(replication_factor, len(online)))
        return [[*replicas, *usable[len(online) : replication_factor]] for replicas in placed]

    def _check_assignments(self, assignments: Sequence[Sequence[int]], size: int | None = None) -> list[list[int]]:
        """Replicas as they were chosen, for each partition as many: `size`, or as the first has."""
        for replicas in assignments:
            check_replicas(replicas, self.brokers)
            size = len(replicas) if size is None else size
            if len(replicas) != size:
                reason = (
                    f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
                    f"consistent with previous partitions, which have {size} replica(s)."
                )
                raise broker_error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        return [list(replicas) for replicas in assignments]

    def auto_create_topic(self, name: str) -> Topic:
        """Create a topic that is used before it was created, as the brokers are configured."""
        internal = INTERNAL_TOPICS.get(name)
        if internal is None:
            return self.create_topic(name)
        partitions = int(self.config[f"{internal.prefix}.num.partitions"])
        replicas = min(int(self.config[f"{internal.prefix}.replication.factor"]), len(self.online_brokers()))
        min_in_sync = self.config.get(f"{internal.prefix}.min.isr")
        configs = internal.configs if min_in_sync is None else {**internal.configs, "min.insync.replicas": min_in_sync}
        return self.create_topic(name, partitions, replicas, configs=configs)

    def _all_partitions(self) -> Iterable[Partition]:
        return (partition for topic in self.topics.values() for partition in topic.partitions)

    # Producers

    def next_producer_id(self) -> int:
        self._producer_ids += 1
        return self._producer_ids - 1


def _check_most(partitions: int) -> None:
    if partitions > _MOST_PARTITIONS:
        reason = f"A topic of {partitions} partitions is too large for the mock: it takes {_MOST_PARTITIONS} at most."
        raise broker_error(ErrorCode.INVALID_PARTITIONS, reason)

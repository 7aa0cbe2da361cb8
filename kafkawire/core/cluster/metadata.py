"""Metadata of a cluster: immutable snapshots, how a Metadata response makes the next one, and the present one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kafkawire.addresses import format_address
from kafkawire.config import parse_servers
from kafkawire.core.arguments import check_topic
from kafkawire.errors import BrokerError, ErrorCode, NetworkError, UnknownTopicError, broker_error
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.metadata import MetadataResponse
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["Address", "Broker", "Metadata", "Partition", "Snapshot", "Topic", "check_partitions", "merge"]

BELIEVED = 3
"""Answers in a row with an older leader epoch after which a topic without topic id is taken to be created again."""
RELIABLE_EPOCHS = 9
"""The first Metadata version whose leader epochs can be trusted to grow (Kafka 2.4, trap 104)."""


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a broker's listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return format_address(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's advertised address."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition. `leader` is None while there is none, or one that the cluster does not list (trap 103)."""

    index: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    older_answers: int = field(default=0, repr=False, compare=False)
    """Answers in a row that named an older leader epoch and were not believed."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; `topic_id` is the zero UUID where brokers have no topic ids."""

    name: str
    topic_id: bytes
    internal: bool
    partitions: Mapping[int, Partition]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Metadata of a cluster at one moment. Immutable."""

    brokers: Mapping[int, Broker] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, Topic] = field(default_factory=lambda: MappingProxyType({}))
    controller_id: int | None = None
    cluster_id: str | None = None
    updated_at: float = float("-inf")

    @property
    def controller(self) -> Broker | None:
        """The controller; None if no broker is named as one (before 0.10)."""
        return None if self.controller_id is None else self.brokers.get(self.controller_id)

    def leader(self, topic: str, partition: int) -> int | None:
        """Node id of a partition's leader; None while it is unknown."""
        known = self.topics.get(topic)
        found = known.partitions.get(partition) if known is not None else None
        return found.leader if found is not None else None

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Leader epoch of a partition; -1, with which brokers check no epoch, while it is unknown."""
        known = self.topics.get(topic)
        found = known.partitions.get(partition) if known is not None else None
        return found.leader_epoch if found is not None else -1


def merge(
    old: Snapshot, response: MetadataResponse, version: int, asked: frozenset[str] | None, now: float
) -> tuple[Snapshot, dict[str, ErrorCode]]:
    """Returns the snapshot after a Metadata response, and the errors of topics in it.

    `asked` are the topics that were asked for, None for all topics. Topics of the old snapshot that were not asked for stay.
    """
    brokers = {b.node_id: Broker(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
    topics = {} if asked is None else {name: topic for name, topic in old.topics.items() if name not in asked}
    errors: dict[str, ErrorCode] = {}
    for answered in response.topics:
        name = answered.name
        if name is None:
            continue
        if not answered.partitions:
            errors[name] = ErrorCode.of(answered.error_code or ErrorCode.LEADER_NOT_AVAILABLE)
            # A known topic may be unavailable for a moment only (trap 131): its metadata stays usable.
            if name in old.topics and errors[name].retriable:
                topics[name] = old.topics[name]
            continue
        topics[name] = _topic(answered, name, brokers, old.topics.get(name), version)
    snapshot = replace(
        old,
        # 0.8.2 lists no brokers before the first topic exists.
        brokers=MappingProxyType(brokers) if brokers else old.brokers,
        topics=MappingProxyType(topics),
        controller_id=response.controller_id if response.controller_id in brokers else None,
        cluster_id=response.cluster_id or old.cluster_id,
        updated_at=now,
    )
    return snapshot, errors


def _topic(
    answered: MetadataResponse.Topic, name: str, brokers: Mapping[int, Broker], old: Topic | None, version: int
) -> Topic:
    if old is not None and (version < RELIABLE_EPOCHS or old.topic_id != answered.topic_id):
        old = None
    partitions = {}
    for p in answered.partitions:
        fresh = Partition(
            p.partition_index,
            p.leader_id if p.leader_id in brokers else None,
            p.leader_epoch,
            tuple(p.replica_nodes),
            tuple(p.isr_nodes),
        )
        known = old.partitions.get(p.partition_index) if old is not None else None
        partitions[p.partition_index] = fresh if known is None else _newer(known, fresh, answered.topic_id)
    return Topic(name, answered.topic_id, answered.is_internal, MappingProxyType(dict(sorted(partitions.items()))))


def _newer(known: Partition, fresh: Partition, topic_id: bytes) -> Partition:
    """Returns the newer of two states of a partition: a broker that lags behind answers with an older leader epoch (trap 104).

    The leader epochs of a topic that was deleted and created again start at zero. Without topic ids only the number of such
    answers in a row tells the two cases apart.
    """
    if fresh.leader_epoch >= known.leader_epoch:
        return fresh
    if topic_id == ZERO_UUID and known.older_answers + 1 >= BELIEVED:
        return fresh
    return replace(known, older_answers=known.older_answers + 1)


def check_partitions(asked: Iterable[TopicPartition], topic: Topic) -> None:
    """Raise UnknownTopicError if `asked` names a partition of the topic that the topic does not have."""
    for tp in asked:
        if tp.topic == topic.name and tp.partition not in topic.partitions:
            raise UnknownTopicError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {topic.name!r} has no partition {tp.partition}, only {len(topic.partitions)}",
            )


class Metadata:
    """The present metadata of the cluster, and which topics it is to cover.

    `apply` runs in the flow of the metadata updater only, and is the only writer of the snapshot, addresses and topic errors;
    it replaces each of them whole. Any thread may call the other methods.
    """

    def __init__(self, bootstrap_servers: str | Sequence[str]) -> None:
        self.snapshot = Snapshot()
        servers = parse_servers(bootstrap_servers)
        self.bootstrap: Mapping[int, Address] = {-1 - i: Address(host, port) for i, (host, port) in enumerate(servers)}
        """Bootstrap servers by negative numbers, since their node ids are unknown (trap 110)."""
        self._addresses = self.bootstrap
        """Addresses of the snapshot's brokers and of the bootstrap servers: each step of a sender or fetcher needs them."""
        self.suspected = False
        """True if the metadata may be out of date: a failure was seen that newer metadata may explain."""
        self._wanted: dict[str, bool] = {}
        self._topic_errors: dict[str, ErrorCode] = {}

    def address(self, node_id: int) -> Address:
        """Address of a broker, or of a bootstrap server (negative ids). Raises NetworkError for an unknown broker."""
        address = self._addresses.get(node_id)
        if address is None:
            raise NetworkError(f"broker {node_id} is not in the cluster: known are {sorted(self.snapshot.brokers)}")
        return address

    def want(self, topic: str, *, create: bool) -> None:
        """Keep metadata of a topic from now on; with `create` the broker may create the topic when it is asked."""
        check_topic(topic)
        self._wanted[topic] = create or self._wanted.get(topic, False)

    def wanted(self) -> list[str]:
        """Topics whose metadata is kept."""
        return list(self._wanted)

    def to_create(self) -> list[str]:
        """Topics that are unknown and that a broker may create."""
        return [name for name, create in list(self._wanted.items()) if create and name not in self.snapshot.topics]

    def suspect(self) -> None:
        """Note a failure that newer metadata may explain, so that the updater asks for it."""
        self.suspected = True

    def trust(self) -> None:
        """Forget the suspicion: metadata is being asked for."""
        self.suspected = False

    def topic_error(self, name: str) -> BrokerError | None:
        """The reason why the last answer about a topic did not contain it; None if there was no such answer."""
        code = self._topic_errors.get(name)
        if code is None:
            return None
        if code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return broker_error(code, f"topic {name!r}")
        brokers = ", ".join(format_address(broker.host, broker.port) for broker in self.snapshot.brokers.values())
        return UnknownTopicError(code, f"topic {name!r} is not on the cluster ({brokers}): create it, or correct the name")

    def apply(self, response: MetadataResponse, version: int, asked: frozenset[str] | None, now: float) -> None:
        """Take up a Metadata response about the topics `asked`, None for all topics."""
        snapshot, errors = merge(self.snapshot, response, version, asked, now)
        kept = {} if asked is None else {name: code for name, code in self._topic_errors.items() if name not in asked}
        absent = dict.fromkeys((asked or frozenset()) - snapshot.topics.keys(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self._topic_errors = {**kept, **absent, **errors}
        self._addresses = {**self.bootstrap, **{node: Address(b.host, b.port) for node, b in snapshot.brokers.items()}}
        self.snapshot = snapshot

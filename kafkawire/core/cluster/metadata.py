"""What is known of a cluster: an immutable snapshot, and how a Metadata response makes the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.metadata import MetadataResponse
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["Broker", "Partition", "Snapshot", "Topic", "merge"]

BELIEVED = 3
"""Answers in a row with an older leader epoch after which, without topic ids, the topic is taken to be created again."""
RELIABLE_EPOCHS = 9
"""The first Metadata version whose leader epochs can be trusted to grow (Kafka 2.4, trap 104)."""


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
    """Answers in a row that have told of an older leader epoch, and were not believed."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; `topic_id` is the zero UUID where brokers have no topic ids."""

    name: str
    topic_id: bytes
    internal: bool
    partitions: Mapping[int, Partition]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment; never changed, only replaced."""

    brokers: Mapping[int, Broker] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, Topic] = field(default_factory=lambda: MappingProxyType({}))
    controller_id: int | None = None
    cluster_id: str | None = None
    updated_at: float = float("-inf")

    @property
    def controller(self) -> Broker | None:
        """The broker that says it is the controller; None where none does (before 0.10)."""
        return None if self.controller_id is None else self.brokers.get(self.controller_id)

    def leader(self, topic: str, partition: int) -> int | None:
        """The node id of the leader, or None while it is not known."""
        known = self.topics.get(topic)
        found = known.partitions.get(partition) if known is not None else None
        return found.leader if found is not None else None


def merge(
    old: Snapshot, response: MetadataResponse, version: int, asked: frozenset[str] | None, now: float
) -> tuple[Snapshot, dict[str, ErrorCode]]:
    """The snapshot after `response`, and the topics that it has errors for.

    `asked` are the topics that were asked for, None for all of them; topics of the old snapshot that were not asked for stay.
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
            # A topic that was there may only be away for a moment (trap 131): what was known of it stays usable.
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
    """Which of two to go by. A broker that is behind answers with an older epoch: what is known is newer (trap 104).

    The epochs of a topic that is created again begin anew. Where there are no topic ids, that shows in the same, but lasts.
    """
    if fresh.leader_epoch >= known.leader_epoch:
        return fresh
    if topic_id == ZERO_UUID and known.older_answers + 1 >= BELIEVED:
        return fresh
    return replace(known, older_answers=known.older_answers + 1)

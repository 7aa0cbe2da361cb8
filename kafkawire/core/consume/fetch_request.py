"""Fetch requests: what to fetch, how the request is built, and which partition each part of the response answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.metadata import Snapshot
from kafkawire.core.cluster.topic_ids import answered_topic, version_for_topics
from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.errors import CorruptRecordsError, KafkaError
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse

__all__ = ["FetchSettings", "FetchTarget", "build_request", "located", "partition_answers"]


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits that a Fetch asks a broker to keep."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_bytes: int

    @classmethod
    def of(cls, options: ConsumerOptions) -> FetchSettings:
        return cls(
            options["fetch_max_wait_ms"],
            options["fetch_min_bytes"],
            options["fetch_max_bytes"],
            options["max_partition_fetch_bytes"],
        )


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """One partition to fetch, as its state and the metadata were when that was decided."""

    state: PartitionState
    revision: int
    """Revision of the state's position."""
    offset: int
    """Offset to fetch from."""
    leader: int | None
    """Node id of the leader; None if it is not known."""
    leader_epoch: int
    alone: bool
    """True if it is to be fetched by itself, to show if it makes answers unreadable."""

    def __str__(self) -> str:
        return f"{self.state.tp.topic} partition {self.state.tp.partition} at offset {self.offset}"


def build_request(
    snapshot: Snapshot, link: BrokerLink, offsets: Iterable[tuple[TopicPartition, int]], settings: FetchSettings
) -> tuple[FetchRequest, int, dict[bytes, str]]:
    """Build a sessionless Fetch; returns it, the version to send it in, and the names behind the topic ids that it uses."""
    topics: dict[str, FetchRequest.Topic] = {}
    known = snapshot.topics
    for tp, offset in offsets:
        topic = topics.get(tp.topic)
        if topic is None:
            topic = topics[tp.topic] = FetchRequest.Topic(topic=tp.topic, topic_id=known[tp.topic].topic_id)
        topic.partitions.append(
            FetchRequest.Topic.Partition(
                partition=tp.partition,
                current_leader_epoch=known[tp.topic].partitions[tp.partition].leader_epoch,
                fetch_offset=offset,
                partition_max_bytes=settings.partition_bytes,
            )
        )
    version, names = version_for_topics(link, FetchRequest, {name: topic.topic_id for name, topic in topics.items()})
    request = FetchRequest(
        max_wait_ms=settings.max_wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=settings.max_bytes,
        topics=list(topics.values()),
    )
    return request, version, names


def partition_answers(response: FetchResponse, names: dict[bytes, str]) -> Iterator[tuple[TopicPartition, Any]]:
    """Yield (partition, its part of the response) for everything in a response that was asked for."""
    for topic in response.responses:
        name = answered_topic(names, topic.topic_id, topic.topic)
        if name is not None:
            for answer in topic.partitions:
                yield TopicPartition(name, answer.partition_index), answer


def located(error: KafkaError, tp: TopicPartition, offset: int) -> KafkaError:
    """Add the place of the damage to an error about damaged records; returns every other error as it is."""
    if not isinstance(error, CorruptRecordsError):
        return error
    return CorruptRecordsError(
        f"{tp.topic} partition {tp.partition} at offset {offset}: {error.reason}; seek past it to go on, or fetch it again"
    )

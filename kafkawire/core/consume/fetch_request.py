"""Fetch requests and whose answers are whose: what fetches in a row and single ones have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.metadata import Snapshot
from kafkawire.core.cluster.topic_ids import answered_topic, version_for_topics
from kafkawire.errors import CorruptRecordsError, KafkaError
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse

__all__ = ["FetchSettings", "build_request", "located", "partition_answers"]


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The limits that a fetch asks a broker to keep."""

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


def build_request(
    snapshot: Snapshot, link: BrokerLink, offsets: Iterable[tuple[TopicPartition, int]], settings: FetchSettings
) -> tuple[FetchRequest, int, dict[bytes, str]]:
    """A sessionless Fetch, the version to send it in, and the names behind the topic ids that it uses."""
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
    """(partition, its answer) for everything in a response."""
    for topic in response.responses:
        name = answered_topic(names, topic.topic_id, topic.topic)
        if name is not None:
            for answer in topic.partitions:
                yield TopicPartition(name, answer.partition_index), answer


def located(error: KafkaError, tp: TopicPartition, offset: int) -> KafkaError:
    """The error with the place of the damage; one that is not about damage as it is."""
    if not isinstance(error, CorruptRecordsError):
        return error
    return CorruptRecordsError(
        f"{tp.topic} partition {tp.partition} at offset {offset}: {error.reason}; seek past it to go on, or fetch it again"
    )

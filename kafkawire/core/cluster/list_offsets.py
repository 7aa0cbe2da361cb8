"""ListOffsets: the first and last offsets of partitions, and the offset of a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.router import value
from kafkawire.core.cluster.targets import Leader
from kafkawire.errors import KafkaError, UnsupportedVersionError, broker_error
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

__all__ = ["EARLIEST", "LATEST", "Found", "list_offsets"]

LATEST = -1
EARLIEST = -2
FIRST_BY_TIME = 1
"""ListOffsets version from which a time finds a record; before, it found the segments written until then."""


class Found(NamedTuple):
    """An offset; `timestamp` (ms) is that of the record there, None where a time was not asked for."""

    offset: int
    timestamp: int | None


Answer = Found | KafkaError | None
"""The answer about one partition: an offset, a refusal, or None where no record is so late."""


async def list_offsets(
    client: ClusterClient, times: Mapping[TopicPartition, int], deadline: float
) -> dict[TopicPartition, Found | None]:
    """Returns for each partition the first offset at or after a time (ms), or the end that LATEST or EARLIEST names.

    None stands for a partition without a record so late. Asks again after leader changes until the deadline, then raises the
    cause: UnknownTopicError, BrokerError, NetworkError or TimedOut. Raises UnsupportedVersionError for a time asked of a
    broker before 0.10.1.
    """

    def build(link: BrokerLink, asked: Sequence[TopicPartition]) -> tuple[ListOffsetsRequest, int]:
        return _request(client, link, {tp: times[tp] for tp in asked}), link.version(ListOffsetsRequest)

    def read(response: ListOffsetsResponse, _asked: Sequence[TopicPartition]) -> dict[TopicPartition, Answer]:
        return _answers(response, times)

    answers = await client.router.call_many({tp: Leader(tp) for tp in times}, build, read, deadline)
    return {tp: value(answer) for tp, answer in answers.items()}


def _request(client: ClusterClient, link: BrokerLink, times: Mapping[TopicPartition, int]) -> ListOffsetsRequest:
    if any(time >= 0 for time in times.values()) and link.version(ListOffsetsRequest) < FIRST_BY_TIME:
        raise UnsupportedVersionError(f"{link.address} is older than Kafka 0.10.1 and has no index of times")
    by_topic: dict[str, ListOffsetsRequest.Topic] = {}
    snapshot = client.metadata.snapshot
    for tp, time in times.items():
        topic = by_topic.setdefault(tp.topic, ListOffsetsRequest.Topic(name=tp.topic))
        epoch = snapshot.leader_epoch(*tp)
        topic.partitions.append(
            ListOffsetsRequest.Topic.Partition(partition_index=tp.partition, current_leader_epoch=epoch, timestamp=time)
        )
    return ListOffsetsRequest(replica_id=-1, topics=list(by_topic.values()))


def _answers(response: ListOffsetsResponse, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, Answer]:
    answers: dict[TopicPartition, Answer] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            tp = TopicPartition(topic.name, partition.partition_index)
            if partition.error_code:
                error = broker_error(partition.error_code, f"ListOffsets of {tp.topic} partition {tp.partition}")
                if not error.retriable:
                    raise error  # at once: the offsets of the others are of no use without this one
                answers[tp] = error
            elif tp in times:
                answers[tp] = _found(partition, times[tp])
    return answers


def _found(answer: ListOffsetsResponse.Topic.Partition, time: int) -> Found | None:
    if answer.old_style_offsets:
        return Found(answer.old_style_offsets[0], None)
    if answer.offset < 0:
        return None
    return Found(answer.offset, None if time < 0 else answer.timestamp)

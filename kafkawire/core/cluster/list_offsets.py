"""Asking leaders for the offsets of partitions: the ends, and where a time is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.link_slots import CONTROL
from kafkawire.core.cluster.metadata import Topic
from kafkawire.errors import (
    DecodeError,
    ErrorCode,
    KafkaError,
    NetworkError,
    RequestTimedOut,
    TimedOut,
    UnknownTopicError,
    UnsupportedVersionError,
    broker_error,
)
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

__all__ = ["EARLIEST", "LATEST", "Found", "cause_at", "check_partitions", "list_offsets"]

LATEST = -1
EARLIEST = -2
FIRST_BY_TIME = 1
"""ListOffsets version from which a time finds a record; before, it found the segments written until then."""


class Found(NamedTuple):
    """An offset; `timestamp` (ms) is that of the record there, None where a time was not asked for."""

    offset: int
    timestamp: int | None


async def list_offsets(
    client: ClusterClient, times: Mapping[TopicPartition, int], deadline: float
) -> dict[TopicPartition, Found | None]:
    """For each partition the first offset at or after a time (ms), or its end (LATEST, EARLIEST); None: nothing so late.

    Goes on through leader changes until the deadline, then raises why: UnknownTopicError, BrokerError, NetworkError or
    TimedOut; UnsupportedVersionError for a time asked of a broker before 0.10.1.
    """
    found: dict[TopicPartition, Found | None] = {}
    for topic in {tp.topic for tp in times}:
        check_partitions(times, await client.topic(topic, deadline))
    attempts = 0
    error: KafkaError | None = None
    while True:
        missing = {tp: time for tp, time in times.items() if tp not in found}
        for node, asked in _by_leader(client, missing).items():
            try:
                answers, refused = await _ask(client, node, asked, deadline)
            except (NetworkError, RequestTimedOut) as failure:
                if not failure.retriable:
                    raise
                error = cause_at(deadline, client.net.now(), failure, error)
                continue
            found.update(answers)
            error = refused or error
        if len(found) == len(times):
            return found
        attempts += 1
        pause = min(deadline, client.net.now() + client.retry_backoff.delay(attempts))
        await client.net.wait(client.net.signal(), pause)
        if client.net.now() >= deadline:
            raise error or TimedOut(f"no leader in the time given for {sorted(set(times) - set(found))}")
        try:
            await client.refresh(deadline)
        except TimedOut as failure:
            raise cause_at(deadline, client.net.now(), failure, error) from None


def cause_at(deadline: float, now: float, error: KafkaError, earlier: KafkaError | None) -> KafkaError:
    """The error to report of an attempt: the one before it, where the deadline cut the attempt off and so says no cause."""
    return earlier if earlier is not None and isinstance(error, TimedOut) and now >= deadline else error


def check_partitions(asked: Iterable[TopicPartition], topic: Topic) -> None:
    """Raise UnknownTopicError if one of the partitions is asked of the topic and it does not have it."""
    for tp in asked:
        if tp.topic == topic.name and tp.partition not in topic.partitions:
            raise UnknownTopicError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {topic.name!r} has no partition {tp.partition}, only {len(topic.partitions)}",
            )


def _by_leader(client: ClusterClient, times: Mapping[TopicPartition, int]) -> dict[int, dict[TopicPartition, int]]:
    groups: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
    for tp, time in times.items():
        leader = client.snapshot.leader(*tp)
        if leader is not None:
            groups[leader][tp] = time
    return groups


async def _ask(
    client: ClusterClient, node: int, times: Mapping[TopicPartition, int], deadline: float
) -> tuple[dict[TopicPartition, Found | None], KafkaError | None]:
    """The answers of one leader, and the last retriable error among them; other errors are raised."""
    if any(time >= 0 for time in times.values()):
        link = await client.link(node, CONTROL, deadline)
        if link.version(ListOffsetsRequest) < FIRST_BY_TIME:
            raise UnsupportedVersionError(f"{link.address} is older than Kafka 0.10.1 and has no index of times")
    by_topic: dict[str, ListOffsetsRequest.Topic] = {}
    for tp, time in times.items():
        topic = by_topic.setdefault(tp.topic, ListOffsetsRequest.Topic(name=tp.topic))
        epoch = client.snapshot.topics[tp.topic].partitions[tp.partition].leader_epoch
        topic.partitions.append(
            ListOffsetsRequest.Topic.Partition(partition_index=tp.partition, current_leader_epoch=epoch, timestamp=time)
        )
    request = ListOffsetsRequest(replica_id=-1, topics=list(by_topic.values()))
    try:
        response: ListOffsetsResponse = await client.call(node, request, deadline)
    except DecodeError as failure:
        raise failure.within(f"the answer of {client.address(node)} about {sorted(times)}") from None
    found: dict[TopicPartition, Found | None] = {}
    error: KafkaError | None = None
    for answered in response.topics:
        for partition in answered.partitions:
            tp = TopicPartition(answered.name, partition.partition_index)
            code = ErrorCode.of(partition.error_code)
            if code is not ErrorCode.NONE:
                error = broker_error(partition.error_code, f"ListOffsets of {tp.topic} partition {tp.partition}")
                if not code.retriable:
                    raise error
            elif tp in times:
                found[tp] = _found(partition, times[tp])
    return found, error


def _found(answer: ListOffsetsResponse.Topic.Partition, time: int) -> Found | None:
    if answer.old_style_offsets:
        return Found(answer.old_style_offsets[0], None)
    if answer.offset < 0:
        return None
    return Found(answer.offset, None if time < 0 else answer.timestamp)

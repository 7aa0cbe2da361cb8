"""Fetch 0-18: records from an offset on, at once or as soon as `min_bytes` are there or `max_wait_ms` has passed.

Size limits are Kafka's: an answer is cut off in the middle of a batch, but from version 3 the first comes whole (KIP-74).
Versions 0-3 get the record format that they can read. Errors answer at once, and name the new leader (KIP-951).

Left out: fetch sessions (every answer is sessionless, as from a broker without session slots), followers and preferred
replicas, diverging epochs, aborted transactions.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker.call import Answer, Call, Wait
from mockbroker.cluster import Partition, Topic
from mockbroker.formats import down_convert

__all__ = ["REQUEST", "handle"]

REQUEST = FetchRequest

_TopicAnswer = FetchResponse.FetchableTopicResponse
_PartitionAnswer = _TopicAnswer.PartitionData
_FINAL_EPOCH = -1
_READ_COMMITTED = 1
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_NEWER_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class _Target(NamedTuple):
    """One partition of the request, and what it leads to."""

    wanted: FetchRequest.Topic.Partition
    topic: Topic | None
    found: Partition | ErrorCode


def handle(call: Call, request: FetchRequest, now: float) -> Answer:
    if request.session_id and request.session_epoch > 0:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    return _answer(call, request, now + max(request.max_wait_ms, 0) / 1000, now)


def _answer(call: Call, request: FetchRequest, deadline: float, now: float) -> Answer:
    groups = [[_find(call, topic, wanted) for wanted in topic.partitions] for topic in request.topics]
    targets = [target for group in groups for target in group]
    logs = [target.found.log for target in targets if isinstance(target.found, Partition)]
    if now >= deadline or len(logs) < len(targets) or not logs or _available(targets) >= request.min_bytes:
        return _response(call, request, groups)
    return Wait(deadline, [log.changed for log in logs], partial(_answer, call, request, deadline))


def _find(call: Call, asked: FetchRequest.Topic, wanted: FetchRequest.Topic.Partition) -> _Target:
    topic = call.cluster.find_topic(asked.topic, asked.topic_id)
    if isinstance(topic, ErrorCode):
        return _Target(wanted, None, topic)
    found = call.led_partition(topic, wanted.partition, wanted.current_leader_epoch)
    if isinstance(found, Partition) and not found.log.start <= wanted.fetch_offset <= found.log.end:
        return _Target(wanted, topic, ErrorCode.OFFSET_OUT_OF_RANGE)
    return _Target(wanted, topic, found)


def _available(targets: list[_Target]) -> int:
    return sum(
        min(target.found.log.size_from(target.wanted.fetch_offset), target.wanted.partition_max_bytes)
        for target in targets
        if isinstance(target.found, Partition)
    )


def _response(call: Call, request: FetchRequest, groups: list[list[_Target]]) -> FetchResponse:
    response = FetchResponse()
    left = request.max_bytes
    leaders: set[int] = set()
    for asked, targets in zip(request.topics, groups, strict=True):
        answers = []
        for target in targets:
            if isinstance(target.found, ErrorCode):
                answers.append(_refusal(target.wanted.partition, target.found, target.topic, leaders))
                continue
            answer = _read(call, request, target.wanted, target.found, left, first=left == request.max_bytes)
            left -= len(answer.records or b"")
            answers.append(answer)
        response.responses.append(_TopicAnswer(topic=asked.topic, topic_id=asked.topic_id, partitions=answers))
    response.node_endpoints = [
        FetchResponse.NodeEndpoint(node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in call.cluster.online_brokers()
        if broker.id in leaders and call.version >= 16
    ]
    return response


def _refusal(index: int, error: ErrorCode, topic: Topic | None, leaders: set[int]) -> _PartitionAnswer:
    # Kafka sends null for what it finds out while it reads, and an empty list for what it knows before.
    aborted: list[_PartitionAnswer.AbortedTransaction] | None = [] if error in _UNKNOWN else None
    answer = _PartitionAnswer(
        partition_index=index, error_code=error, high_watermark=-1, aborted_transactions=aborted, records=b""
    )
    if error in _NEWER_LEADER and topic is not None:
        partition = topic.partitions[index]
        answer.current_leader = _PartitionAnswer.LeaderIdAndEpoch(
            leader_id=partition.leader, leader_epoch=partition.leader_epoch
        )
        leaders.add(partition.leader)
    return answer


def _read(
    call: Call, request: FetchRequest, wanted: FetchRequest.Topic.Partition, partition: Partition, left: int, *, first: bool
) -> _PartitionAnswer:
    log = partition.log
    limit = max(min(wanted.partition_max_bytes, left), 0)
    if call.version >= 3:
        whole = log.first_size(wanted.fetch_offset)
        if whole > limit:
            limit = whole if first else 0
    readable_magic = 0 if call.version < 2 else 1 if call.version < 4 else 2
    if call.cluster.profile.magic <= readable_magic:
        data = log.read(wanted.fetch_offset, limit)
    else:
        data = down_convert(log.batches(wanted.fetch_offset), readable_magic, limit)
        data = data[:limit] if call.version < 3 else data
    return _PartitionAnswer(
        partition_index=wanted.partition,
        high_watermark=log.end,
        last_stable_offset=log.end,
        log_start_offset=log.start,
        aborted_transactions=[] if request.isolation_level == _READ_COMMITTED else None,
        records=data,
    )

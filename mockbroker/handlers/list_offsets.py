"""ListOffsets 0-11: the end, the start, the record of the latest timestamp, or the first record since a time.

Version 0 answers a list: the starts of log segments that are old enough, newest first, and the end for "latest". The mock
keeps one segment a partition.

Left out: tiered storage (-4 is the start, -5 and -6 find nothing), transactions (the last stable offset is the end).
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from mockbroker.call import Answer, Call
from mockbroker.cluster import Partition
from mockbroker.log import PartitionLog, TimestampedOffset

__all__ = ["REQUEST", "handle"]

REQUEST = ListOffsetsRequest

_PartitionAnswer = ListOffsetsResponse.Topic.Partition
_LATEST = -1
_EARLIEST = -2
_MAX_TIMESTAMP = -3
_EARLIEST_LOCAL = -4
_LATEST_TIERED = -5
_EARLIEST_PENDING_UPLOAD = -6
_SINCE_VERSION = {
    _LATEST: 0,
    _EARLIEST: 0,
    _MAX_TIMESTAMP: 7,
    _EARLIEST_LOCAL: 8,
    _LATEST_TIERED: 9,
    _EARLIEST_PENDING_UPLOAD: 11,
}


def handle(call: Call, request: ListOffsetsRequest, now: float) -> Answer:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.Topic(
                name=topic.name, partitions=[_list(call, topic.name, wanted) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _list(call: Call, name: str, wanted: ListOffsetsRequest.Topic.Partition) -> _PartitionAnswer:
    answer = _PartitionAnswer(partition_index=wanted.partition_index)
    found = _find(call, name, wanted)
    if isinstance(found, ErrorCode):
        answer.error_code = found
    elif call.version == 0:
        answer.old_style_offsets = _segments(found.log, wanted.timestamp)[: max(wanted.max_num_offsets, 0)]
    else:
        record = _lookup(found, wanted.timestamp)
        if record is not None:
            answer.offset, answer.timestamp = record.offset, record.timestamp
            if call.version >= 4:
                answer.leader_epoch = record.leader_epoch
    return answer


def _find(call: Call, name: str, wanted: ListOffsetsRequest.Topic.Partition) -> Partition | ErrorCode:
    topic = call.cluster.find_topic(name)
    if isinstance(topic, ErrorCode):
        return topic
    if wanted.timestamp < 0 and call.version < _SINCE_VERSION.get(wanted.timestamp, call.version + 1):
        return ErrorCode.UNSUPPORTED_VERSION
    return call.led_partition(topic, wanted.partition_index, wanted.current_leader_epoch)


def _lookup(partition: Partition, timestamp: int) -> TimestampedOffset | None:
    log = partition.log
    if timestamp == _LATEST:
        return TimestampedOffset(log.end, -1, partition.leader_epoch)
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return TimestampedOffset(log.start, -1, log.leader_epoch_at(log.start))
    if timestamp == _MAX_TIMESTAMP:
        return log.latest_timestamp()
    return log.first_since(timestamp) if timestamp >= 0 else None


def _segments(log: PartitionLog, timestamp: int) -> list[int]:
    if timestamp == _LATEST:
        return [log.end, log.start] if log.end > log.start else [log.start]
    if timestamp == _EARLIEST:
        return [log.start]
    newest = log.latest_timestamp()
    return [log.start] if newest is None or newest.timestamp <= timestamp else []

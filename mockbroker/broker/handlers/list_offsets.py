"""ListOffsets 0-11: offset of the end, the start, the record with the latest timestamp, or the first record since a time.

The end depends on isolation level and replica id. Version 0 answers a list: the starts of log segments that are old enough,
newest first, and the end for "latest". The mock keeps one segment a partition.

Left out: tiered storage (-4 is the start, -5 and -6 find nothing), transactions (the last stable offset is the high watermark).
"""

from __future__ import annotations

from collections import Counter

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.broker.isolation import readable_end
from mockbroker.broker.registry import advertised
from mockbroker.state.log import PartitionLog, TimestampedOffset
from mockbroker.state.topics import Partition

__all__ = ["handle"]


_PartitionAnswer = ListOffsetsResponse.Topic.Partition
_DEBUGGING = -2  # replica id of tools, which any replica answers
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
_CHECKED_SINCE = 9
"""Version of the API whose brokers refuse special timestamps that came after the version of the request.

Older brokers take those of all their versions, and any other negative number as an ordinary timestamp.
"""


def handle(context: RequestContext, request: ListOffsetsRequest, now: float) -> Answer:
    now_ms = context.cluster.wall_clock_ms(now)
    return ListOffsetsResponse(topics=[_topic(context, request, topic, now_ms) for topic in request.topics])


def _topic(
    context: RequestContext, request: ListOffsetsRequest, asked: ListOffsetsRequest.Topic, now_ms: int
) -> ListOffsetsResponse.Topic:
    often = Counter(wanted.partition_index for wanted in asked.partitions)
    wanted_once = {wanted.partition_index: wanted for wanted in asked.partitions}.values()
    answers = [
        _list(context, request, asked.name, wanted, now_ms)
        if often[wanted.partition_index] == 1
        else _PartitionAnswer(partition_index=wanted.partition_index, error_code=ErrorCode.INVALID_REQUEST)
        for wanted in wanted_once
    ]
    return ListOffsetsResponse.Topic(name=asked.name, partitions=answers)


def _list(
    context: RequestContext, request: ListOffsetsRequest, name: str, wanted: ListOffsetsRequest.Topic.Partition, now_ms: int
) -> _PartitionAnswer:
    answer = _PartitionAnswer(partition_index=wanted.partition_index)
    found = _find(context, name, wanted, request.replica_id)
    special = _special(context, wanted.timestamp)
    if isinstance(found, ErrorCode):
        answer.error_code = found
        return answer
    end = readable_end(found.log, request.replica_id, request.isolation_level)
    if context.version == 0:
        segments = _segments(found.log, special or wanted.timestamp, end, now_ms)
        answer.old_style_offsets = segments[: max(wanted.max_num_offsets, 0)]
    else:
        record = _lookup(found, wanted.timestamp, special, end)
        if record is not None:
            answer.offset, answer.timestamp = record.offset, record.timestamp
            if context.version >= 4:
                answer.leader_epoch = record.leader_epoch
    return answer


def _newest_version(context: RequestContext) -> int:
    """Newest version of the API that this broker serves."""
    return advertised(context.cluster.profile)[ListOffsetsRequest.key][1]


def _special(context: RequestContext, timestamp: int) -> int | None:
    """Timestamp if it has a special meaning for this broker. Without tiered storage the earliest offset is local."""
    if timestamp not in _SINCE_VERSION or _newest_version(context) < _SINCE_VERSION[timestamp]:
        return None
    return _EARLIEST if timestamp == _EARLIEST_LOCAL else timestamp


def _find(
    context: RequestContext, name: str, wanted: ListOffsetsRequest.Topic.Partition, replica_id: int
) -> Partition | ErrorCode:
    topic = context.cluster.find_topic(name)
    if isinstance(topic, ErrorCode):
        return topic
    checked = wanted.timestamp < 0 and _newest_version(context) >= _CHECKED_SINCE
    if checked and context.version < _SINCE_VERSION.get(wanted.timestamp, context.version + 1):
        return ErrorCode.UNSUPPORTED_VERSION
    epoch = wanted.current_leader_epoch
    return context.led_partition(topic, wanted.partition_index, epoch, or_followed=replica_id == _DEBUGGING)


def _lookup(partition: Partition, timestamp: int, special: int | None, end: int) -> TimestampedOffset | None:
    """Find an offset by its timestamp or its special meaning; records from the offset `end` on are not seen."""
    log = partition.log
    if special == _LATEST:
        return TimestampedOffset(end, -1, partition.leader_epoch)
    if special == _EARLIEST:
        return TimestampedOffset(log.log_start_offset, -1, log.leader_epoch_at_start())
    if special == _MAX_TIMESTAMP:
        found = log.latest_timestamp()
    else:
        found = log.first_since(timestamp) if special is None else None
    return found if found is not None and found.offset < end else None


def _segments(log: PartitionLog, timestamp: int, end: int, now_ms: int) -> list[int]:
    """Offsets that are old enough: the end, dated now, and the start of the one segment, dated by its last append."""
    start = log.log_start_offset
    dated = [(end, now_ms), *([(start, log.modified_ms)] if end > start else [])]
    if timestamp == _EARLIEST:
        return [start]
    return [offset for offset, date in dated if timestamp == _LATEST or date <= timestamp]

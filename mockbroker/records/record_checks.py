"""Checks of single records by a leader: keys on compacted topics, timestamps, sizes. Names the records at fault (KIP-467)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import ErrorCode
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records.spans import unpack
from kafkawire.protocol.records.varints import read_varint

if TYPE_CHECKING:
    from kafkawire.protocol.records import RecordBatch
    from mockbroker.state.topics import Partition, Topic

__all__ = ["RecordsRejectedError", "TimeLimits", "check_records", "check_unpacked_sizes", "time_limits"]

_SHOWN = 3
_NO_LIMIT = 2**63 - 1
_LARGEST_ARRAY = 2**31 - 9
"""Largest array of Java in bytes, the default of max.decompressed.message.bytes: with this limit nothing is unpacked."""


class RecordsRejectedError(Exception):
    """Batch that the log refuses. `reasons`: by the index of the record, as clients are told."""

    def __init__(self, error: ErrorCode, message: str | None = None, reasons: Mapping[int, str] = MappingProxyType({})) -> None:
        super().__init__(message or error.text)
        self.error = error
        self.message = message
        self.reasons = reasons


class TimeLimits(NamedTuple):
    """Earliest and latest timestamp that records may have, in milliseconds."""

    earliest: int
    latest: int


def time_limits(topic: Topic, now_ms: int) -> TimeLimits:
    """Timestamp limits of a topic with CreateTime: one configuration since 0.10, two since 3.6 (KIP-937), none before."""
    before, after = (
        min(
            (int(limit) for name in (own, "message.timestamp.difference.max.ms") if (limit := topic.config(name))),
            default=_NO_LIMIT,
        )
        for own in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
    )
    return TimeLimits(now_ms - before, now_ms + after)


def check_unpacked_sizes(partition: Partition, batch: RecordBatch) -> None:
    """Raise RecordsRejectedError if a compressed record is larger than the topic allows, which has a limit since 4.4."""
    limit = int(partition.topic.config("max.decompressed.message.bytes") or _LARGEST_ARRAY)
    if batch.codec is Codec.NONE or limit >= _LARGEST_ARRAY:
        return
    unpacked = unpack(batch, _LARGEST_ARRAY)
    at = 0
    for _ in range(batch.count):
        size, at = read_varint(unpacked, at)
        if size > limit:
            raise RecordsRejectedError(ErrorCode.INVALID_RECORD)
        at += size


def check_records(partition: Partition, batches: Sequence[RecordBatch], limits: TimeLimits | None) -> None:
    """Raise RecordsRejectedError for records without a key or with a wrong timestamp. Unpacks batches only if need be."""
    keyless = dict(_keyless(partition, batches))
    late = {} if limits is None else dict(_out_of_range(batches, limits))
    if not late and not keyless:
        return
    reasons = dict(sorted((late | keyless).items()))
    if late.keys() - keyless.keys():
        message = "One or more records have been rejected due to invalid timestamp"
        raise RecordsRejectedError(ErrorCode.INVALID_TIMESTAMP, message, reasons)
    shown = ", ".join(
        f"RecordError(batchIndex={index}, message='{reason}')" for index, reason in list(reasons.items())[:_SHOWN]
    )
    message = (
        f"One or more records have been rejected due to {len(reasons)} record errors in total, and only showing the first "
        f"three errors at most: [{shown}]"
    )
    raise RecordsRejectedError(ErrorCode.INVALID_RECORD, message, reasons)


def _keyless(partition: Partition, batches: Sequence[RecordBatch]) -> Iterator[tuple[int, str]]:
    """Find records without a key in a compacted topic, which keeps one record a key."""
    topic = partition.topic
    if "compact" not in topic.config("cleanup.policy"):
        return
    reason = f"Compacted topic cannot accept message without key in topic partition {topic.name}-{partition.index}"
    for index, end in enumerate(records.decode_columns(list(batches)).key_ends):
        if end < 0:
            yield index, reason


def _out_of_range(batches: Sequence[RecordBatch], limits: TimeLimits) -> Iterator[tuple[int, str]]:
    if limits.earliest <= 0 and all(batch.max_timestamp <= limits.latest for batch in batches):
        return
    columns = records.decode_columns(list(batches))
    for index, (offset, timestamp) in enumerate(zip(columns.offsets, columns.timestamps, strict=True)):
        if timestamp != -1 and not limits.earliest <= timestamp <= limits.latest:
            yield (
                index,
                (
                    f"Timestamp {timestamp} of message with offset {offset} is out of range. The timestamp should be within "
                    f"[{limits.earliest}, {limits.latest}]"
                ),
            )

"""What a leader checks of single records: keys on compacted topics, and times. It names those at fault (KIP-467)."""

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
"""Of Java, in bytes, and the default of max.decompressed.message.bytes: nothing is unpacked to see whether it is larger."""


class RecordsRejectedError(Exception):
    """A batch that the log does not take, with what clients are told of it: `reasons` by the index of records."""

    def __init__(self, error: ErrorCode, message: str | None = None, reasons: Mapping[int, str] = MappingProxyType({})) -> None:
        super().__init__(message or error.text)
        self.error = error
        self.message = message
        self.reasons = reasons


class TimeLimits(NamedTuple):
    """The times that records may have, in milliseconds."""

    earliest: int
    latest: int


def time_limits(topic: Topic, now_ms: int) -> TimeLimits:
    """Limits for timestamps in a topic with CreateTime: one since 0.10, two since 3.6 (KIP-937), none before."""
    before, after = (
        min(
            (int(limit) for name in (own, "message.timestamp.difference.max.ms") if (limit := topic.config(name))),
            default=_NO_LIMIT,
        )
        for own in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
    )
    return TimeLimits(now_ms - before, now_ms + after)


def check_unpacked_sizes(partition: Partition, batch: RecordBatch) -> None:
    """Raise RecordsRejectedError if one of compressed records is larger than the topic allows, which has a limit since 4.4."""
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
    """Raise RecordsRejectedError if there are such records. Batches are unpacked only where that can be."""
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
    """A compacted topic keeps one record a key."""
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

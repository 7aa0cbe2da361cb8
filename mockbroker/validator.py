"""What a leader checks before records enter the log, as Kafka's LogValidator and ProducerStateManager do.

Left out: the records inside a batch are not unpacked, except where a compacted topic needs their keys; limits on timestamps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import CorruptRecordsError, ErrorCode, broker_error
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from mockbroker.formats import re_encode, stamp_batch, stamp_message_set

if TYPE_CHECKING:
    from kafkawire.protocol.records import RecordBatch
    from kafkawire.protocol.wire import Buffer
    from mockbroker.cluster import Partition

__all__ = ["AppendInfo", "append"]

_ZSTD_SINCE = 7


class AppendInfo(NamedTuple):
    """Where records went. `log_append_time` is in milliseconds, -1 where the topic keeps the producer's times."""

    base_offset: int
    log_append_time: int


def append(partition: Partition, data: Buffer, version: int, magic: int, now_ms: int) -> AppendInfo:
    """Check what a Produce request of this version brought, and append it in the log's format.

    Raises BrokerError with the code to answer.
    """
    log_append_time = now_ms if partition.topic.config("message.timestamp.type") == "LogAppendTime" else None
    try:
        batches = list(records.read_batches(data))
        if not batches or batches[-1].end != len(data):
            error = ErrorCode.INVALID_RECORD if version >= 3 else ErrorCode.CORRUPT_MESSAGE
            raise broker_error(error, f"{len(data)} bytes of records that end in the middle of a batch")
        _check_size(partition, batches)
        if version < 3:
            info = _append_old(partition, data, batches, magic, log_append_time)
        else:
            info = _append_batch(partition, batches, version, log_append_time)
    except CorruptRecordsError as error:
        raise broker_error(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    partition.log.changed.wake()
    return info


def _check_size(partition: Partition, batches: list[RecordBatch]) -> None:
    limit = int(partition.topic.config("max.message.bytes"))
    largest = max(batch.size for batch in batches)
    if largest > limit:
        raise broker_error(ErrorCode.MESSAGE_TOO_LARGE, f"a record batch of {largest} bytes, over max.message.bytes={limit}")


def _append_batch(partition: Partition, batches: list[RecordBatch], version: int, log_append_time: int | None) -> AppendInfo:
    batch = batches[0]
    if len(batches) != 1 or batch.magic != 2:  # trap 27
        raise broker_error(ErrorCode.INVALID_RECORD, f"Produce v{version} takes exactly one batch of format 2")
    if batch.codec is Codec.ZSTD and version < _ZSTD_SINCE:
        raise broker_error(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Produce v{version} cannot carry zstd")
    if batch.is_control or batch.count < 1 or batch.next_offset - batch.base_offset != batch.count:
        raise broker_error(ErrorCode.INVALID_RECORD, f"a batch of {batch.count} records that no producer may send")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise broker_error(ErrorCode.INVALID_RECORD, f"a batch of producer {batch.producer_id} without a sequence number")
    if batch.is_transactional:
        raise broker_error(ErrorCode.INVALID_TXN_STATE, "no transaction is open")
    _check_keys(partition, batches)
    sequence = (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.count)
    if batch.producer_id >= 0:
        verdict = partition.producers.check(*sequence)
        if isinstance(verdict, ErrorCode):
            raise broker_error(verdict, f"producer {batch.producer_id} sent sequence {batch.base_sequence}")
        if verdict is not None:
            return AppendInfo(verdict.base_offset, verdict.timestamp)
    base_offset = partition.log.end
    stamped = stamp_batch(batch, base_offset, partition.leader_epoch, log_append_time)
    partition.log.append(stamped)
    if batch.producer_id >= 0:
        partition.producers.appended(*sequence, base_offset, stamped.max_timestamp)
    return AppendInfo(base_offset, -1 if log_append_time is None else log_append_time)


def _append_old(
    partition: Partition, data: Buffer, batches: list[RecordBatch], magic: int, log_append_time: int | None
) -> AppendInfo:
    """A message set of Produce 0-2, converted to the log's format where that is another."""
    if any(batch.magic > 1 for batch in batches):
        raise broker_error(ErrorCode.INVALID_RECORD, "Produce before v3 takes message sets of formats 0 and 1 only")
    _check_keys(partition, batches)
    base_offset = partition.log.end
    if any(batch.magic != magic for batch in batches):
        data = re_encode(data, magic)
    if magic == 2:
        (batch,) = records.read_batches(data, check_crcs=False)
        stamped = [stamp_batch(batch, base_offset, partition.leader_epoch, log_append_time)]
    else:
        stamped = stamp_message_set(data, base_offset, log_append_time)
    for one in stamped:
        partition.log.append(one)
    return AppendInfo(base_offset, -1 if log_append_time is None or magic == 0 else log_append_time)


def _check_keys(partition: Partition, batches: list[RecordBatch]) -> None:
    """A compacted topic keeps one record a key: records without are refused."""
    if "compact" in partition.topic.config("cleanup.policy"):
        columns = records.decode_columns(batches)
        if any(end < 0 for end in columns.key_ends):
            raise broker_error(ErrorCode.INVALID_RECORD, "Compacted topic cannot accept message without key.")

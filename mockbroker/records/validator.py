"""Checks by a leader before it appends records (Kafka's LogValidator and ProducerStateManager), and the append.

Left out: transactions.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import CorruptRecordsError, ErrorCode, broker_error
from kafkawire.protocol import records
from mockbroker.records.formats import re_encode, stamp_batch, stamp_message_set
from mockbroker.records.record_checks import RecordsRejectedError, TimeLimits, check_records, check_unpacked_sizes, time_limits

if TYPE_CHECKING:
    from kafkawire.protocol.records import RecordBatch
    from kafkawire.protocol.wire import Buffer
    from mockbroker.state.topics import Partition

__all__ = ["AppendInfo", "WrongFormError", "append", "check_form"]


class WrongFormError(Exception):
    """Records of a request are not in the form of its version. The error to answer depends on the broker's version."""


class AppendInfo(NamedTuple):
    """Place of appended records. `log_append_time`: in milliseconds, -1 if the topic keeps the producer's timestamps."""

    base_offset: int
    log_append_time: int


def append(
    partition: Partition, data: Buffer, version: int, magic: int, now_ms: int, *, limit_times: bool = False
) -> AppendInfo:
    """Check the records of a Produce request of this version, and append them in the log's format.

    limit_times: True if records may be refused for their timestamps. Raises BrokerError with the code to answer,
    WrongFormError, and RecordsRejectedError for single records.
    """
    log_append_time = now_ms if partition.topic.config("message.timestamp.type") == "LogAppendTime" else None
    limits = time_limits(partition.topic, now_ms) if limit_times and log_append_time is None else None
    try:
        batches = _read(data, version)
        if not batches:  # a message that is cut off at the end of a message set is ignored (trap 41)
            return AppendInfo(-1, -1)
        for batch in batches:
            _check_size(partition, batch.size)
        if version < 3:
            info = _append_old(partition, data, batches, magic, log_append_time, limits)
        else:
            info = _append_batch(partition, batches[0], log_append_time, limits)
    except CorruptRecordsError as error:
        raise broker_error(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    partition.log.modified_ms = now_ms
    partition.log.changed.wake()
    return info


def _read(data: Buffer, version: int) -> list[RecordBatch]:
    """Read the records of a request. Their form is checked before their checksums. Raises CorruptRecordsError."""
    try:
        batches = list(records.read_batches(data))
    except CorruptRecordsError:
        _check_form(list(records.read_batches(data, check_crcs=False)), data, version)
        raise
    _check_form(batches, data, version)
    return batches


def check_form(data: Buffer, version: int) -> None:
    """Raise WrongFormError or BrokerError for records that no log takes."""
    with suppress(CorruptRecordsError):
        _check_form(list(records.read_batches(data, check_crcs=False)), data, version)


def _check_form(batches: list[RecordBatch], data: Buffer, version: int) -> None:
    """Check the form of records: since version 3 a request brings exactly one batch of format 2 (trap 27)."""
    if version < 3:
        return
    if len(batches) != 1 or batches[0].magic != 2 or batches[0].end != len(data):
        raise WrongFormError(f"Produce v{version} takes exactly one batch of format 2")
    codec = batches[0].codec
    if version < codec.format.first_produce:
        raise broker_error(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Produce v{version} cannot carry {codec.name.lower()}")


def _check_size(partition: Partition, size: int) -> None:
    limit = int(partition.topic.config("max.message.bytes"))
    if size > limit:
        raise broker_error(ErrorCode.MESSAGE_TOO_LARGE, f"a record batch of {size} bytes, over max.message.bytes={limit}")


def _append_batch(
    partition: Partition, batch: RecordBatch, log_append_time: int | None, limits: TimeLimits | None
) -> AppendInfo:
    if batch.is_control or batch.count < 1 or batch.next_offset - batch.base_offset != batch.count:
        raise RecordsRejectedError(ErrorCode.INVALID_RECORD)
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise RecordsRejectedError(ErrorCode.INVALID_RECORD)
    if batch.is_transactional:
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED  # of the empty transactional id
        raise broker_error(error, "no transaction is open")
    check_unpacked_sizes(partition, batch)
    check_records(partition, [batch], limits)
    sequence = (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.count)
    if batch.producer_id >= 0:
        verdict = partition.producers.check(*sequence)
        if isinstance(verdict, ErrorCode):
            raise broker_error(verdict, f"producer {batch.producer_id} sent sequence {batch.base_sequence}")
        if verdict is not None:
            return AppendInfo(verdict.base_offset, verdict.timestamp)
    base_offset = partition.log.log_end_offset
    stamped = stamp_batch(batch, base_offset, partition.leader_epoch, log_append_time)
    partition.log.append(stamped)
    if batch.producer_id >= 0:
        partition.producers.appended(*sequence, base_offset, stamped.max_timestamp)
    return AppendInfo(base_offset, -1 if log_append_time is None else log_append_time)


def _append_old(
    partition: Partition,
    data: Buffer,
    batches: list[RecordBatch],
    magic: int,
    log_append_time: int | None,
    limits: TimeLimits | None,
) -> AppendInfo:
    """Append a message set of Produce 0-2, converted to the log's format if that is another."""
    formats = {batch.magic for batch in batches}
    if magic < 2 and 2 in formats:
        raise broker_error(ErrorCode.CORRUPT_MESSAGE, "a record batch, in a format that the broker does not know")
    if magic == 2 and len(formats) > 1:
        raise RecordsRejectedError(ErrorCode.INVALID_RECORD)
    if formats == {2}:  # no client should send it in these versions
        return _append_batch(partition, batches[0], log_append_time, limits)
    try:
        check_records(partition, batches, limits)
    except RecordsRejectedError as refusal:
        if magic < 2:  # these brokers do not know INVALID_RECORD
            raise broker_error(ErrorCode.CORRUPT_MESSAGE, str(refusal)) from refusal
        raise
    base_offset = partition.log.log_end_offset
    data = memoryview(data)[: batches[-1].end]
    if formats != {magic}:
        data = re_encode(data, magic)
        if magic == 2:  # several messages have become one batch
            _check_size(partition, len(data))
    if magic == 2:
        (batch,) = records.read_batches(data, check_crcs=False)
        stamped = [stamp_batch(batch, base_offset, partition.leader_epoch, log_append_time)]
    else:
        stamped = stamp_message_set(data, base_offset, log_append_time)
    for one in stamped:
        partition.log.append(one)
    return AppendInfo(base_offset, -1 if log_append_time is None or magic == 0 else log_append_time)

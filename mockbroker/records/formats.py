"""Record formats as a broker handles them: stamps offsets and timestamps on producers' records, and converts formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from kafkawire.errors import CorruptRecordsError, ErrorCode, broker_error
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec, compress, decompress
from kafkawire.protocol.crc32c import crc32c
from mockbroker.state.log import Batch

if TYPE_CHECKING:
    from kafkawire.protocol.records import RecordBatch
    from kafkawire.protocol.wire import Buffer

__all__ = ["down_convert", "re_encode", "stamp_batch", "stamp_message_set"]

_LOG_APPEND_TIME = 0x08
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_CRC = Struct(">I")

# Offsets of fields in a batch of format 2.
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT, _MAX_TIMESTAMP_AT = 8, 12, 16, 17, 22, 35
_CHECKED_FROM = 21

# Offsets of fields in a message of formats 0 and 1, which begin with offset and size, too.
_MESSAGE_CRC_AT, _MESSAGE_CHECKED_FROM, _MESSAGE_ATTRIBUTES_AT, _MESSAGE_TIMESTAMP_AT = 12, 16, 17, 18
_MESSAGE_KEY_AT = (18, 26)
"""Offset of the key by magic."""

_UNPACKED_LIMIT = 1 << 28
"""Most bytes that one compressed message may hold."""


def stamp_batch(batch: RecordBatch, base_offset: int, leader_epoch: int, log_append_time: int | None) -> Batch:
    """Stamp a producer's batch of format 2 with its place in the log. Offset and epoch lie outside the checksum (trap 25)."""
    data = memoryview(batch.buffer)[batch.start : batch.end]
    last_offset = base_offset + batch.count - 1
    head = (_INT64.pack(base_offset), data[_LENGTH_AT:_EPOCH_AT], _INT32.pack(leader_epoch))
    if log_append_time is None:
        return Batch(b"".join((*head, data[_MAGIC_AT:])), last_offset, batch.max_timestamp)
    stamped = bytearray().join((*head, data[_MAGIC_AT:]))
    stamped[_ATTRIBUTES_AT] |= _LOG_APPEND_TIME
    _INT64.pack_into(stamped, _MAX_TIMESTAMP_AT, log_append_time)
    _CRC.pack_into(stamped, _CRC_AT, crc32c(memoryview(stamped)[_CHECKED_FROM:]))
    return Batch(bytes(stamped), last_offset, log_append_time)


def stamp_message_set(data: Buffer, base_offset: int, log_append_time: int | None) -> list[Batch]:
    """Stamp the messages of a set in format 0 or 1 with their places in the log. Raises CorruptRecordsError."""
    stamped = []
    for batch in records.read_batches(data):
        message = bytearray(memoryview(data)[batch.start : batch.end])
        count, timestamp = 1, batch.max_timestamp
        if batch.codec is not Codec.NONE:
            message, count, timestamp = _stamp_compressed(message, batch, base_offset)
        if log_append_time is not None and batch.magic == 1:  # of a compressed message the outer time counts (trap 48)
            timestamp = log_append_time
            message[_MESSAGE_ATTRIBUTES_AT] |= _LOG_APPEND_TIME
            _INT64.pack_into(message, _MESSAGE_TIMESTAMP_AT, log_append_time)
            _CRC.pack_into(message, _MESSAGE_CRC_AT, crc32(message[_MESSAGE_CHECKED_FROM:]))
        last_offset = base_offset + count - 1
        _INT64.pack_into(message, 0, last_offset)
        stamped.append(Batch(bytes(message), last_offset, timestamp))
        base_offset += count
    return stamped


def _stamp_compressed(message: bytearray, batch: RecordBatch, base_offset: int) -> tuple[bytearray, int, int]:
    """Stamp offsets on the messages inside a compressed one. Returns it with their number and their latest timestamp.

    Offsets inside are absolute in format 0 (trap 47), counted from 0 in format 1 (trap 46).
    """
    value_at = _MESSAGE_KEY_AT[batch.magic]
    value_at += 8 + max(_INT32.unpack_from(message, value_at)[0], 0)
    inner = bytearray(decompress(batch.codec, memoryview(message)[value_at:], limit=_UNPACKED_LIMIT, magic=batch.magic))
    found = list(records.read_batches(inner))
    if not found or found[-1].end != len(inner) or any(one.magic != batch.magic or one.codec for one in found):
        raise CorruptRecordsError("a compressed message does not hold plain messages of its own format (trap 50)")
    for place, one in enumerate(found, start=base_offset if batch.magic == 0 else 0):
        _INT64.pack_into(inner, one.start, place)
    packed = compress(batch.codec, inner, magic=batch.magic)
    stamped = message[: value_at - 4] + _INT32.pack(len(packed)) + packed
    _INT32.pack_into(stamped, 8, len(stamped) - 12)
    _CRC.pack_into(stamped, _MESSAGE_CRC_AT, crc32(stamped[_MESSAGE_CHECKED_FROM:]))
    return stamped, len(found), max(one.max_timestamp for one in found)


def re_encode(data: Buffer, magic: int) -> Buffer:
    """Convert records to another format, with the codec of the first batch. Raises CorruptRecordsError."""
    batches = list(records.read_batches(data))
    rows = [row for _, row in _rows(batches)]
    codec = batches[0].codec
    if magic < 2:
        return records.encode_message_set(magic, rows, codec=codec)
    keys, values = [key for key, _, _ in rows], [value for _, value, _ in rows]
    timestamps = [timestamp for _, _, timestamp in rows]
    parts = records.encode_columns(values, keys, timestamps, base_timestamp=timestamps[0])
    return records.seal_batch(parts, count=len(rows), base_timestamp=timestamps[0], max_timestamp=max(timestamps), codec=codec)


def down_convert(data: Buffer, magic: int, offset: int) -> bytes:
    """Convert stored batches from an offset on to messages of format 0 or 1, with their codecs. Control batches drop out.

    The result is cut off at the length of `data`, but its first batch is whole. A lone piece of a batch stays as it is: it
    tells the client to ask for more. Readers of these formats do not know zstd, so the result ends before a batch that has
    it. Raises UNSUPPORTED_COMPRESSION_TYPE if that is the first batch (KIP-110).
    """
    batches = list(records.read_batches(data, check_crcs=False))
    if not batches:
        return bytes(data)
    converted: list[bytes] = []
    for batch in batches:
        if batch.is_control:
            continue
        if magic < batch.codec.format.first_magic:
            if not converted:
                name = batch.codec.name.lower()
                raise broker_error(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"{name} in a format that does not know it")
            break
        rows = [(at, row) for at, row in _rows([batch]) if batch.codec is not Codec.NONE or at >= offset]
        messages = records.encode_message_set(magic, [row for _, row in rows], codec=batch.codec)
        log_append_time = batch.max_timestamp if batch.timestamp_type == 1 else None
        converted.append(b"".join(one.data for one in stamp_message_set(messages, rows[0][0], log_append_time)))
    return b"".join(converted)[: max(len(data), len(converted[0]) if converted else 0)]


_Row = tuple["bytes | None", "bytes | None", int]


def _rows(batches: Iterable[RecordBatch]) -> Iterator[tuple[int, _Row]]:
    """Offset and (key, value, timestamp) of every record."""
    columns = records.decode_columns(list(batches))
    for message in records.messages(columns, "", 0):
        yield message.offset, (message.key, message.value, -1 if message.timestamp is None else message.timestamp)

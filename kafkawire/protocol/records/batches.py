"""Batches of a fetch, told apart and checked by their headers; nothing is unpacked yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.compression import Codec, codec_of
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records.layout import (
    BATCH_HEADER,
    BATCH_OVERHEAD,
    CONTROL,
    CRC_FROM,
    DELETE_HORIZON,
    LEGACY_CRC_FROM,
    LEGACY_HEADER,
    LEGACY_KEY_AT,
    LENGTH_END,
    LOG_APPEND_TIME,
    SHORTEST_MESSAGE,
    SHORTEST_RECORD,
    TRANSACTIONAL,
    UP_TO_MAGIC,
)
from kafkawire.protocol.wire import Buffer

__all__ = ["RecordBatch", "read_batches"]

_MAX_OFFSET = (1 << 63) - 1


@dataclass(slots=True, eq=False)
class RecordBatch:
    """The header of one record batch, or of one message of formats 0 and 1 (which may hold a compressed set of them).

    Timestamps are in milliseconds, -1 for none; `timestamp_type` is 0 for the producer's, 1 for the broker's, -1 in format 0.
    """

    magic: int
    base_offset: int
    """Offset of the first record; for a compressed message of formats 0 and 1, which only has the last one, that one."""
    next_offset: int
    """Offset of the next fetch, past records that compaction removed (traps 32, 33)."""
    leader_epoch: int
    codec: Codec
    timestamp_type: int
    is_control: bool
    is_transactional: bool
    producer_id: int
    producer_epoch: int
    base_sequence: int
    has_delete_horizon: bool
    """True if the base timestamp is the time from which compaction may remove tombstones and markers (KIP-534)."""
    base_timestamp: int
    """Timestamp that the records' deltas are added to, which need not be any record's (trap 36)."""
    max_timestamp: int
    count: int
    """Number of records, -1 for a compressed message of formats 0 and 1, which does not have it."""
    buffer: Buffer
    """Buffer that holds the batch."""
    start: int
    end: int
    """Bounds of the batch in the buffer."""

    @property
    def size(self) -> int:
        """Bytes of the whole batch as it lies in the log."""
        return self.end - self.start


def read_batches(data: Buffer, *, check_crcs: bool = True) -> Iterator[RecordBatch]:
    """The batches in `data`, of all formats mixed (trap 44); a batch cut off at the end is left out (trap 41).

    Raises CorruptRecordsError at the first batch that is damaged, when it is reached.
    """
    view = memoryview(data)
    start = 0
    while len(view) - start >= UP_TO_MAGIC.size:
        base_offset, length, _, magic = UP_TO_MAGIC.unpack_from(view, start)
        if length < SHORTEST_MESSAGE[0] - LENGTH_END:
            raise CorruptRecordsError(f"a batch of {length} bytes at offset {base_offset}", offset=start)
        end = start + LENGTH_END + length
        if end > len(view):
            return
        if magic == 2:
            yield _read_v2(data, view, start, end, check_crcs)
        elif magic in (0, 1):
            yield _read_legacy(data, view, start, end, check_crcs)
        else:
            raise CorruptRecordsError(f"unknown message format {magic} at offset {base_offset}", offset=start + 16)
        start = end


def _read_v2(data: Buffer, view: memoryview, start: int, end: int, check_crc: bool) -> RecordBatch:
    if end - start < BATCH_OVERHEAD:
        raise CorruptRecordsError(f"a batch of {end - start} bytes is shorter than its header", offset=start)
    (
        base_offset,
        _,
        leader_epoch,
        _,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = BATCH_HEADER.unpack_from(view, start)
    if check_crc:  # of the bytes as they are, before anything is unpacked (traps 25, 26)
        _expect_crc(crc, crc32c(view[start + CRC_FROM : end]), base_offset, start)
    codec = codec_of(attributes)
    if count < 0 or (codec is Codec.NONE and count * SHORTEST_RECORD > end - start - BATCH_OVERHEAD):
        raise CorruptRecordsError(f"{count} records in a batch of {end - start} bytes at offset {base_offset}", offset=start)
    if base_offset < 0 or last_offset_delta < 0 or base_offset + last_offset_delta >= _MAX_OFFSET:
        raise CorruptRecordsError(f"offsets {base_offset} + {last_offset_delta} are out of range", offset=start)
    return RecordBatch(
        2,
        base_offset,
        base_offset + last_offset_delta + 1,
        leader_epoch,
        codec,
        1 if attributes & LOG_APPEND_TIME else 0,
        bool(attributes & CONTROL),
        bool(attributes & TRANSACTIONAL),
        producer_id,
        producer_epoch,
        base_sequence,
        bool(attributes & DELETE_HORIZON),
        base_timestamp,
        max_timestamp,
        count,
        data,
        start,
        end,
    )


def _read_legacy(data: Buffer, view: memoryview, start: int, end: int, check_crc: bool) -> RecordBatch:
    offset, _, crc, magic, attributes = LEGACY_HEADER.unpack_from(view, start)
    if magic == 1 and end - start < SHORTEST_MESSAGE[1]:
        raise CorruptRecordsError(f"a message of {end - start} bytes is shorter than its header", offset=start)
    if check_crc:
        _expect_crc(crc, crc32(view[start + LEGACY_CRC_FROM : end]), offset, start)
    codec = codec_of(attributes)
    if magic < codec.format.first_magic:
        raise CorruptRecordsError(f"{codec.name.lower()} in message format {magic} at offset {offset}", offset=start)  # trap 50
    if not 0 <= offset < _MAX_OFFSET:
        raise CorruptRecordsError(f"offset {offset} is out of range", offset=start)
    timestamp_type = -1 if magic == 0 else 1 if attributes & LOG_APPEND_TIME else 0
    timestamp = int.from_bytes(view[start + LEGACY_HEADER.size : start + LEGACY_KEY_AT[1]], "big", signed=True) if magic else -1
    return RecordBatch(
        magic,
        offset,
        offset + 1,
        -1,
        codec,
        timestamp_type,
        False,
        False,
        -1,
        -1,
        -1,
        False,
        timestamp,
        timestamp,
        1 if codec is Codec.NONE else -1,
        data,
        start,
        end,
    )


def _expect_crc(stored: int, computed: int, offset: int, start: int) -> None:
    if stored != computed:
        raise CorruptRecordsError(
            f"the batch at offset {offset} has checksum {stored:#010x}, its bytes have {computed:#010x}", offset=start
        )

"""Spans of records: the records of several batches in one buffer, unpacked where they were compressed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkawire.protocol.compression import Codec, decompress
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import Run, SharedBytes
from kafkawire.protocol.records.layout import BATCH_OVERHEAD
from kafkawire.protocol.records.legacy import offset_shift, wrapped_set
from kafkawire.protocol.wire import Buffer

__all__ = ["Span", "add_run", "gather", "open_batch", "unpack"]


class Span(NamedTuple):
    """Records of one batch, and their place in the common buffer."""

    batch: RecordBatch
    start: int
    end: int
    """End of the batch's records, also if more of them follow behind the span."""
    records: int
    """Number of records; of a compressed message of formats 0 and 1 the most that are wanted, -1 for all."""
    is_last: bool = True
    """True if the batch ends with the span. For a compressed message of formats 0 and 1 only reading it can tell."""
    shift: int = 0
    """Number to add to the offsets inside a compressed message of formats 0 and 1."""


def unpack(batch: RecordBatch, limit: int) -> Buffer:
    """The records of a batch, unpacked; CorruptRecordsError if that needs more than `limit` bytes."""
    if batch.codec is Codec.NONE:
        return memoryview(batch.buffer)[_records_at(batch) : batch.end]
    packed = memoryview(batch.buffer)[_records_at(batch) : batch.end] if batch.magic == 2 else wrapped_set(batch)
    if not packed and batch.count == 0:
        return b""
    return decompress(batch.codec, packed, limit=limit, magic=batch.magic)


def open_batch(batch: RecordBatch, piece: Buffer, at: int = 0) -> Span:
    """The span of all records of a batch, whose `piece` of the common buffer begins at `at`."""
    shift = offset_shift(batch, piece) if batch.magic < 2 and batch.codec is not Codec.NONE else 0
    return Span(batch, at, at + len(piece), batch.count, shift=shift)


def gather(batches: Sequence[RecordBatch], pieces: Sequence[Buffer]) -> tuple[SharedBytes, list[Span]]:
    """One buffer with the unpacked records of all batches, and the span of each batch in it."""
    if not batches:
        return SharedBytes(b""), []
    buffer = batches[0].buffer
    in_order = all(left.end <= right.start for left, right in pairwise(batches))
    if in_order and all(batch.codec is Codec.NONE and batch.buffer is buffer for batch in batches):
        first = 0 if isinstance(buffer, bytes) else batches[0].start
        data = buffer if isinstance(buffer, bytes) else memoryview(buffer)[first : batches[-1].end]
        return SharedBytes(data), [Span(batch, _records_at(batch) - first, batch.end - first, batch.count) for batch in batches]
    spans = []
    at = 0
    for batch, piece in zip(batches, pieces, strict=True):
        spans.append(open_batch(batch, piece, at))
        at += len(piece)
    return SharedBytes(pieces[0] if len(pieces) == 1 else b"".join(pieces)), spans


def _records_at(batch: RecordBatch) -> int:
    """Index of a batch's first record in its buffer; a message of formats 0 and 1 is its own record."""
    return batch.start + (BATCH_OVERHEAD if batch.magic == 2 else 0)


def add_run(runs: list[Run], row: int, batch: RecordBatch) -> None:
    """Begin a run at `row`, unless the batch agrees with the run before."""
    if not runs or runs[-1][1:] != (batch.timestamp_type, batch.leader_epoch):
        runs.append(Run(row, batch.timestamp_type, batch.leader_epoch))

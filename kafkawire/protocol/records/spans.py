"""Where the records of several batches lie, once what is compressed is unpacked: all in one buffer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkawire.protocol.compression import Codec, decompress
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import Run
from kafkawire.protocol.records.layout import BATCH_OVERHEAD
from kafkawire.protocol.records.legacy import wrapped_set
from kafkawire.protocol.wire import Buffer

__all__ = ["Span", "add_run", "gather"]


class Span(NamedTuple):
    """A batch and where in the common buffer its records lie."""

    batch: RecordBatch
    start: int
    end: int


def gather(batches: Sequence[RecordBatch], limit: int) -> tuple[Buffer, list[Span]]:
    """One buffer with all the records, and where each batch has its own."""
    if not batches:
        return b"", []
    buffer = batches[0].buffer
    in_order = all(left.end <= right.start for left, right in pairwise(batches))
    if in_order and all(batch.codec is Codec.NONE and batch.buffer is buffer for batch in batches):
        first = 0 if isinstance(buffer, bytes) else batches[0].start
        data = buffer if isinstance(buffer, bytes) else memoryview(buffer)[first : batches[-1].end]
        return data, [Span(batch, _records_at(batch) - first, batch.end - first) for batch in batches]
    spans = []
    pieces: list[Buffer] = []
    at = 0
    for batch in batches:
        piece = _piece(batch, limit)
        limit -= len(piece) if batch.codec is not Codec.NONE else 0
        pieces.append(piece)
        spans.append(Span(batch, at, at + len(piece)))
        at += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), spans


def _records_at(batch: RecordBatch) -> int:
    """Where in its buffer the records of a batch begin; a message of formats 0 and 1 is its own record."""
    return batch.start + (BATCH_OVERHEAD if batch.magic == 2 else 0)


def _piece(batch: RecordBatch, limit: int) -> Buffer:
    if batch.codec is Codec.NONE:
        return memoryview(batch.buffer)[_records_at(batch) : batch.end]
    packed = memoryview(batch.buffer)[_records_at(batch) : batch.end] if batch.magic == 2 else wrapped_set(batch)
    if not packed and batch.count == 0:
        return b""
    return decompress(batch.codec, packed, limit=limit, magic=batch.magic)


def add_run(runs: list[Run], row: int, batch: RecordBatch) -> None:
    """Note that a batch's rows begin at `row`, unless it goes on like the one before."""
    if not runs or runs[-1][1:] != (batch.timestamp_type, batch.leader_epoch):
        runs.append(Run(row, batch.timestamp_type, batch.leader_epoch))

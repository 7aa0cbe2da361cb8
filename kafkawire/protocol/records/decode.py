"""Decodes batches to columns, with numpy where it is installed and pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import decode_pure
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import RecordColumns, SharedBytes
from kafkawire.protocol.records.spans import Span, gather, unpack

__all__ = ["DEFAULT_LIMIT", "decode_columns", "decode_spans"]

_Decode: TypeAlias = Callable[[SharedBytes, Sequence[Span]], RecordColumns]

DEFAULT_LIMIT = 256 * 1024 * 1024
"""Bytes that the compressed batches of one call may unpack to (trap 43)."""
_WORTH_NUMPY = 40
"""Below this many records the plain loop is faster."""


def decode_columns(batches: Iterable[RecordBatch], *, limit: int = DEFAULT_LIMIT) -> RecordColumns:
    """The records of several batches in order. Control batches are decoded like any other: leave them out.

    Uncompressed batches of one buffer are read where they lie. `limit` is the most bytes that the compressed ones may
    unpack to, together. Raises CorruptRecordsError for damaged records and for more than `limit`.
    """
    found = list(batches)
    pieces = []
    for batch in found:
        piece = unpack(batch, limit)
        limit -= len(piece) if batch.codec is not Codec.NONE else 0
        pieces.append(piece)
    return decode_spans(*gather(found, pieces))


def decode_spans(shared: SharedBytes, spans: Sequence[Span]) -> RecordColumns:
    """The records of all spans, in order. Raises CorruptRecordsError."""
    rows = sum(span.records for span in spans)
    if rows < _WORTH_NUMPY or any(span.batch.magic < 2 for span in spans):
        return decode_pure.decode(shared, spans)
    return _decoder.get()(shared, spans)


def _numpy() -> _Decode:
    from kafkawire.protocol.records.decode_numpy import decode

    return decode


def _pure() -> _Decode:
    return decode_pure.decode


_decoder: Accelerated[_Decode] = Accelerated("record columns", ("numpy", _numpy), ("pure Python", _pure))

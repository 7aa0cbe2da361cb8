"""From batches to columns, with numpy where it is installed and pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.records import decode_pure
from kafkawire.protocol.records.batches import RecordBatch
from kafkawire.protocol.records.columns import RecordColumns
from kafkawire.protocol.records.spans import Span, gather
from kafkawire.protocol.wire import Buffer

__all__ = ["DEFAULT_LIMIT", "decode_columns"]

DEFAULT_LIMIT = 256 * 1024 * 1024
"""Bytes that the compressed batches of one call may unpack to (trap 43)."""
_WORTH_NUMPY = 40
"""Below this many records the plain loop is faster."""


def decode_columns(batches: Iterable[RecordBatch], *, limit: int = DEFAULT_LIMIT) -> RecordColumns:
    """The records of several batches in order. Control batches are decoded like any other: leave them out.

    Uncompressed batches of one buffer are read where they lie. `limit` is the most bytes that the compressed ones may
    unpack to, together. Raises CorruptRecordsError for damaged records and for more than `limit`.
    """
    data, spans = gather(list(batches), limit)
    rows = sum(span.batch.count for span in spans)
    if rows < _WORTH_NUMPY or any(span.batch.magic < 2 for span in spans):
        return decode_pure.decode(data, spans)
    return _decoder.get()(data, spans)


def _numpy() -> Callable[[Buffer, Sequence[Span]], RecordColumns]:
    from kafkawire.protocol.records.decode_numpy import decode

    return decode


def _pure() -> Callable[[Buffer, Sequence[Span]], RecordColumns]:
    return decode_pure.decode


_decoder: Accelerated[Callable[[Buffer, Sequence[Span]], RecordColumns]] = Accelerated(
    "record columns", ("numpy", _numpy), ("pure Python", _pure)
)

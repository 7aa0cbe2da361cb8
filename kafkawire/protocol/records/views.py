"""Columns as Message objects, as values alone, or as Arrow."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from importlib import import_module
from itertools import chain, repeat
from typing import TYPE_CHECKING

from kafkawire.message import Header, Message
from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.records.columns import IntColumn, RecordColumns, as_list

if TYPE_CHECKING:
    from types import ModuleType

    import pyarrow as pa

__all__ = ["arrow_schema", "messages", "no_rows", "to_arrow", "values"]


def messages(columns: RecordColumns, topic: str, partition: int) -> list[Message]:
    """A Message for each record. Raises CorruptRecordsError for damaged headers."""
    count = columns.count
    headers: Iterable[tuple[Header, ...]] = repeat(())
    if columns.has_headers:
        headers = columns.all_headers()
    fields = zip(
        repeat(topic, count),
        repeat(partition),
        as_list(columns.offsets),
        *_times(columns),
        _bytes(columns, columns.key_starts, columns.key_ends),
        _bytes(columns, columns.value_starts, columns.value_ends),
        headers,
        chain.from_iterable(
            repeat(None if run.leader_epoch < 0 else run.leader_epoch, rows) for run, rows in columns.run_lengths()
        ),
        strict=False,
    )
    # The collector would visit the growing list again and again, for 0.7 times the cost of making it; no Python code runs here.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return list(map(tuple.__new__, repeat(Message), fields))
    finally:
        if collecting:
            gc.enable()


def values(columns: RecordColumns) -> list[bytes | None]:
    """The value of each record."""
    return list(_bytes(columns, columns.value_starts, columns.value_ends))


def _bytes(columns: RecordColumns, starts: IntColumn, ends: IntColumn) -> Iterable[bytes | None]:
    data = columns.as_bytes()
    start_list, end_list = as_list(starts), as_list(ends)
    nulls = end_list.count(-1)
    if nulls == 0:
        return [data[start:end] for start, end in zip(start_list, end_list, strict=True)]
    if nulls == columns.count:
        return repeat(None, nulls)
    return [None if end < 0 else data[start:end] for start, end in zip(start_list, end_list, strict=True)]


def _times(columns: RecordColumns) -> tuple[Iterable[int | None], Iterable[int | None]]:
    """Timestamps and their types; both None where a record has none (traps 34, 49)."""
    stamps = as_list(columns.timestamps)
    types: Iterable[int] = chain.from_iterable(repeat(run.timestamp_type, rows) for run, rows in columns.run_lengths())
    if -1 not in stamps:
        return stamps, types
    return (
        [None if stamp == -1 else stamp for stamp in stamps],
        [None if stamp == -1 else kind for stamp, kind in zip(stamps, types, strict=True)],
    )


def arrow_schema(headers: bool = False) -> pa.Schema:
    """The columns of `to_arrow`, all nullable. Raises MissingDependencyError without pyarrow."""
    return _arrow.get().arrow_schema(headers)


def no_rows(headers: bool = False) -> pa.RecordBatch:
    """A table without rows, with the columns of `to_arrow`. Raises MissingDependencyError without pyarrow."""
    return _arrow.get().no_rows(headers)


def to_arrow(columns: RecordColumns, topic: str, partition: int, *, headers: bool = False) -> pa.RecordBatch:
    """A row for each record, as `arrow.to_arrow` describes it; MissingDependencyError without pyarrow."""
    return _arrow.get().to_arrow(columns, topic, partition, headers=headers)


_arrow: Accelerated[ModuleType] = Accelerated(
    "Arrow", ("pyarrow", lambda: import_module("kafkawire.protocol.records.arrow")), advice="pip install kafkawire[arrow]"
)

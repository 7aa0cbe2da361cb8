"""Columns of records, as send_many() and send_arrow() take them, on their way into batches."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from numbers import Integral
from operator import add
from typing import Any, NamedTuple, TypeVar

from kafkawire.core.arguments import check_timestamp
from kafkawire.core.produce.deliveries import BatchCompletion
from kafkawire.errors import ConfigurationError
from kafkawire.message import Header

__all__ = ["RECORD_BYTES", "Columns", "Run", "arrow_columns", "as_list", "check_bytes", "checked_headers", "one_record"]

T = TypeVar("T")

RECORD_BYTES = 24
"""Bytes of a record in a batch beside its key, value and headers; a few more only where timestamps are hours apart."""
ARROW_COLUMNS = {"value", "key", "partition", "timestamp", "headers"}


class Run(NamedTuple):
    """Rows `start` to `end` of some columns, which are the records from `at` on of one batch."""

    completion: BatchCompletion
    at: int
    start: int
    end: int


class Columns:
    """Rows to be sent to one partition, or to whichever partition takes records without a key.

    Raises ConfigurationError where the columns differ in length or hold something else than bytes and None.
    """

    __slots__ = ("_ends", "headers", "keys", "timestamps", "values")

    def __init__(
        self,
        values: Iterable[bytes | None],
        keys: Iterable[bytes | None] | None = None,
        timestamps: Iterable[int] | None = None,
        headers: Iterable[Iterable[Header] | None] | None = None,
    ) -> None:
        values = as_list("values", values)
        keys = None if keys is None else as_list("keys", keys)
        timestamps = None if timestamps is None else as_list("timestamps", timestamps)
        headers = None if headers is None else as_list("headers", headers)
        for name, column in (("keys", keys), ("timestamps", timestamps), ("headers", headers)):
            if column is not None and len(column) != len(values):
                raise ConfigurationError(f"{name} has {len(column)} rows, values has {len(values)}: they must be as many")
        self.values = values
        self.keys = keys
        self.timestamps = timestamps
        self.headers = None if headers is None else [checked_headers(row) if row else None for row in headers]
        if timestamps is not None and not all(
            issubclass(kind, Integral) and not issubclass(kind, bool) for kind in set(map(type, timestamps))
        ):
            raise ConfigurationError("timestamps must be whole milliseconds, without None")
        if timestamps:
            check_timestamp(min(timestamps))
            check_timestamp(max(timestamps))
        sizes = _sizes("values", values)
        if keys is not None:
            sizes = list(map(add, sizes, _sizes("keys", keys)))
        if headers is not None:
            sizes = list(map(add, sizes, map(header_bytes, self.headers or ())))
        self._ends = list(accumulate(map(RECORD_BYTES.__add__, sizes)))

    def __len__(self) -> int:
        return len(self.values)

    def size(self, row: int) -> int:
        """Return the most bytes that a row can take in a batch."""
        return self._ends[row] - (self._ends[row - 1] if row else 0)

    def span(self, start: int, end: int) -> int:
        """Return the most bytes that the rows from `start` to `end` can take in a batch."""
        return self._ends[end - 1] - (self._ends[start - 1] if start else 0)

    def fitting(self, start: int, room: int) -> int:
        """Return the end of the rows from `start` on that surely fit into `room` bytes."""
        return bisect_right(self._ends, (self._ends[start - 1] if start else 0) + room)

    def take(self, rows: Sequence[int]) -> Columns:
        """Return some of the rows, in the order given."""
        pick = rows.__iter__
        return Columns(
            [self.values[i] for i in pick()],
            None if self.keys is None else [self.keys[i] for i in pick()],
            None if self.timestamps is None else [self.timestamps[i] for i in pick()],
            None if self.headers is None else [self.headers[i] for i in pick()],
        )


def as_list(name: str, column: Iterable[T]) -> list[T] | tuple[T, ...]:
    """Return the rows of a column as a sequence. Raises TypeError for an object without rows."""
    if isinstance(column, list | tuple):
        return column
    try:
        return list(column)
    except TypeError:
        raise TypeError(f"{name} is a list with an item for each record, not {type(column).__name__}") from None


def _sizes(name: str, column: Sequence[bytes | None]) -> list[int]:
    kinds = set(map(type, column))
    if not kinds <= {bytes, bytearray, memoryview, type(None)}:
        wrong = ", ".join(sorted(kind.__name__ for kind in kinds - {bytes, bytearray, memoryview, type(None)}))
        raise ConfigurationError(f"{name} must be bytes or None, not {wrong}: encode them, or give the producer a serializer")
    if type(None) in kinds:
        return [0 if item is None else len(item) for item in column]
    return list(map(len, column))  # type: ignore[arg-type]


def header_bytes(headers: Iterable[Header] | None) -> int:
    # Names are counted as if every character took four bytes of UTF-8; the lengths of name and value take at most ten.
    return sum(10 + 4 * len(name) + len(value or b"") for name, value in headers or ())


def checked_headers(headers: Iterable[Header]) -> tuple[Header, ...]:
    """Return headers in a form that can be encoded more than once. Raises ConfigurationError for other than pairs."""
    try:
        pairs = tuple((name, value) for name, value in headers)
    except (TypeError, ValueError):
        raise ConfigurationError(f"headers must be pairs of a name and a value, not {headers!r}") from None
    name: Any
    value: Any
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, bytes | bytearray | memoryview | None):
            wrong = f"{type(name).__name__} and {type(value).__name__}"
            raise ConfigurationError(f"headers must be pairs of a str and bytes or None, not of {wrong}")
    return pairs


def not_bytes(name: str, given: object) -> TypeError:
    """Return the error for a key or value that nobody has encoded."""
    return TypeError(f"{name} must be bytes or None, not {type(given).__name__}: encode it, or give {name}_serializer")


def check_bytes(key: object, value: object) -> None:
    """Raise TypeError for a key or value that nobody has encoded."""
    for name, part in (("key", key), ("value", value)):
        if part is not None and not isinstance(part, bytes | bytearray | memoryview):
            raise not_bytes(name, part)


def one_record(
    key: bytes | None, value: bytes | None, headers: tuple[Header, ...] | None
) -> tuple[bytes | None, bytes | None, int]:
    """Return key and value as bytes that nobody can change, and the most bytes that the record can take in a batch."""
    key = None if key is None else bytes(key)
    value = None if value is None else bytes(value)
    return key, value, RECORD_BYTES + len(key or b"") + len(value or b"") + header_bytes(headers)


def arrow_columns(table: Any) -> Iterator[tuple[int | None, Sequence[int], Columns]]:
    """Yield (partition, row numbers, columns) for each partition that an Arrow table or batch names, None where it names none.

    Raises ConfigurationError for a column that is missing, unknown or of the wrong type.
    """
    import pyarrow as pa

    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise TypeError(f"table is a pyarrow.Table or a pyarrow.RecordBatch, not {type(table).__name__}")
    names = set(table.schema.names)
    if "value" not in names or not names <= ARROW_COLUMNS:
        raise ConfigurationError(f"columns must be value and some of {sorted(ARROW_COLUMNS - {'value'})}, not {sorted(names)}")
    column = {name: table.column(name) for name in names}
    partitions = column.get("partition")
    if partitions is not None and not pa.types.is_integer(partitions.type):
        raise ConfigurationError(f"partition must be whole numbers, not {partitions.type}")
    timestamps = column.get("timestamp")
    if timestamps is not None and pa.types.is_timestamp(timestamps.type):
        timestamps = timestamps.cast(pa.timestamp("ms", timestamps.type.tz), safe=False).cast(pa.int64())
    if timestamps is not None and (timestamps.null_count or not pa.types.is_integer(timestamps.type)):
        raise ConfigurationError("timestamp must be a timestamp or whole milliseconds, without nulls")
    columns = Columns(
        _binary(column, "value") or [],
        _binary(column, "key"),
        None if timestamps is None else timestamps.to_pylist(),
        _arrow_headers(column.get("headers")),
    )
    if partitions is None or not len(columns):
        yield None, range(len(columns)), columns
        return
    groups: dict[int | None, list[int]] = defaultdict(list)
    for row, partition in enumerate(partitions.to_pylist()):
        groups[partition].append(row)
    for partition, rows in groups.items():
        yield partition, rows, columns if len(groups) == 1 else columns.take(rows)


def _binary(column: Mapping[str, Any], name: str) -> list[bytes | None] | None:
    import pyarrow as pa

    if name not in column:
        return None
    kind = column[name].type
    if pa.types.is_null(kind):
        return [None] * len(column[name])
    if not (
        _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    ):
        raise ConfigurationError(f"{name} must be binary or string, not {kind}")
    made: list[bytes | None] = column[name].cast(pa.binary()).to_pylist()
    return made


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _arrow_headers(column: Any) -> list[list[Header] | None] | None:
    """Return the headers of a column of lists of structs of a name and a value, as Spark has them."""
    if column is None:
        return None
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
        raise ConfigurationError(f"headers must be lists of structs of a name and a value, not {kind}")
    return [None if row is None else [(name, value) for name, value in map(dict.values, row)] for row in column.to_pylist()]

"""Records as columns over one buffer, from which messages, lists of bytes and Arrow batches are made."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafkawire.errors import CorruptRecordsError
from kafkawire.message import Header
from kafkawire.protocol.records.varints import ZIGZAG, read_varint
from kafkawire.protocol.wire import Buffer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["IntColumn", "RecordColumns", "Run", "SharedBytes", "as_list"]

IntColumn: TypeAlias = "list[int] | npt.NDArray[np.int64]"


_COLUMNS_BYTES = 8 * 8
"""Bytes of a record in the columns: eight of int64."""


class Run(NamedTuple):
    """Rows from `start` on, up to the next run, with the same timestamp type and leader epoch."""

    start: int
    timestamp_type: int
    leader_epoch: int


class SharedBytes:
    """The buffer of some columns and of all slices of them: made into bytes once, when the first of them needs bytes."""

    __slots__ = ("data",)

    def __init__(self, data: Buffer) -> None:
        self.data = data

    def as_bytes(self) -> bytes:
        if not isinstance(self.data, bytes):
            self.data = bytes(self.data)
        return self.data


class RecordColumns:
    """Records, a column for each of their fields: int64 arrays with numpy, lists without it or for few rows.

    Starts and ends are positions in `data`; where a key or value is null, its end is -1. Timestamps are in milliseconds,
    -1 for none, as Kafka has it. `data` may be a part of a fetch's answer, and then keeps all of it alive (trap 133).
    """

    __slots__ = (
        "_shared",
        "count",
        "has_headers",
        "header_ends",
        "header_starts",
        "key_ends",
        "key_starts",
        "offsets",
        "runs",
        "timestamps",
        "value_ends",
        "value_starts",
    )

    def __init__(
        self,
        shared: SharedBytes,
        runs: Sequence[Run],
        has_headers: bool,
        offsets: IntColumn,
        timestamps: IntColumn,
        key_starts: IntColumn,
        key_ends: IntColumn,
        value_starts: IntColumn,
        value_ends: IntColumn,
        header_starts: IntColumn,
        header_ends: IntColumn,
    ) -> None:
        self._shared = shared
        self.runs = runs
        """The timestamp type (0 the producer's, 1 the broker's, -1 none) and leader epoch (-1: none) of the rows."""
        self.has_headers = has_headers
        """False if no record has headers."""
        self.count = len(offsets)
        self.offsets = offsets
        self.timestamps = timestamps
        self.key_starts = key_starts
        self.key_ends = key_ends
        self.value_starts = value_starts
        self.value_ends = value_ends
        self.header_starts = header_starts
        self.header_ends = header_ends

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        where = f" of offsets {self.offsets[0]} to {self.offsets[-1]}" if self.count else ""
        return f"<RecordColumns: {self.count} records{where}>"

    @property
    def data(self) -> Buffer:
        """The buffer that starts and ends point into."""
        return self._shared.data

    def as_bytes(self) -> bytes:
        """`data` as bytes, of which a slice is a quick copy; itself copied at most once, for all slices of these columns."""
        return self._shared.as_bytes()

    @property
    def size(self) -> int:
        """Bytes that the records take in the buffer, and the columns beside it."""
        if not self.count:
            return 0
        return int(self.header_ends[-1]) - int(self.key_starts[0]) + self.count * _COLUMNS_BYTES

    @property
    def timestamp_types(self) -> list[int]:
        """Timestamp type of each row: 0 the producer's time, 1 the broker's, -1 where the format has no timestamps."""
        return [run.timestamp_type for run, rows in self.run_lengths() for _ in range(rows)]

    @property
    def leader_epochs(self) -> list[int]:
        """Leader epoch of each row, -1 where the broker sent none."""
        return [run.leader_epoch for run, rows in self.run_lengths() for _ in range(rows)]

    def run_lengths(self) -> list[tuple[Run, int]]:
        """Each run with its number of rows."""
        ends = [run.start for run in self.runs[1:]] + [self.count]
        return [(run, end - run.start) for run, end in zip(self.runs, ends, strict=False)]

    def headers(self, row: int) -> tuple[Header, ...]:
        """The headers of one record; CorruptRecordsError if they are damaged."""
        return self._headers(slice(row, row + 1 or None))[0]

    def all_headers(self) -> list[tuple[Header, ...]]:
        """The headers of every record; CorruptRecordsError if those of one are damaged."""
        return self._headers(slice(None))

    def _headers(self, rows: slice) -> list[tuple[Header, ...]]:
        data, names = self.as_bytes(), _Names()
        found = []
        for start, end in zip(as_list(self.header_starts[rows]), as_list(self.header_ends[rows]), strict=True):
            try:
                found.append(_read_headers(data, start, end, names) if end - start > 1 else ())
            except IndexError:
                offset = self.offsets[rows][len(found)]
                raise CorruptRecordsError(f"the headers of offset {offset} are cut short") from None
        return found

    def slice(self, start: int, stop: int) -> RecordColumns:
        """Rows `start` to `stop` (exclusive) over the same buffer."""
        start, stop, _ = slice(start, stop).indices(self.count)
        rows = slice(start, max(start, stop))
        runs = [
            run._replace(start=max(run.start - start, 0))
            for run, length in self.run_lengths()
            if run.start < rows.stop and run.start + length > start
        ]
        return RecordColumns(
            self._shared,
            runs,
            self.has_headers,
            self.offsets[rows],
            self.timestamps[rows],
            self.key_starts[rows],
            self.key_ends[rows],
            self.value_starts[rows],
            self.value_ends[rows],
            self.header_starts[rows],
            self.header_ends[rows],
        )

    def index_of(self, offset: int) -> int:
        """The first row whose offset is `offset` or later; `count` when there is none (traps 31, 40)."""
        return bisect_left(self.offsets, offset)


def as_list(column: IntColumn) -> list[int]:
    """The column as a list, over which a loop takes a third of the time."""
    return column if isinstance(column, list) else column.tolist()


class _Names(dict[bytes, str]):
    """Header names as text, decoded once: most records have the same names."""

    def __missing__(self, encoded: bytes) -> str:
        name = self[encoded] = encoded.decode(errors="replace")  # as Java reads it
        return name


def _read_headers(data: bytes, at: int, end: int, names: _Names) -> tuple[Header, ...]:
    """Read headers: a count, then names (never null) and values, up to exactly `end` (traps 29, 37)."""
    count, at = read_varint(data, at)
    if not 0 <= count <= (end - at) // 2:
        raise CorruptRecordsError(f"{count} headers in {end - at} bytes")
    headers = []
    for _ in range(count):
        size, at = (short, at + 1) if (short := ZIGZAG[data[at]]) is not None else read_varint(data, at)
        if not 0 <= size <= end - at:
            raise CorruptRecordsError(f"a header name of {size} bytes")
        name = names[data[at : at + size]]
        at += size
        size, at = (short, at + 1) if (short := ZIGZAG[data[at]]) is not None else read_varint(data, at)
        if not -1 <= size <= end - at:
            raise CorruptRecordsError(f"a header value of {size} bytes")
        headers.append((name, None if size < 0 else data[at : at + size]))
        at += max(size, 0)
    if at != end:
        raise CorruptRecordsError(f"{end - at} bytes are left after the headers of a record")
    return tuple(headers)

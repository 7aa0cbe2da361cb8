"""Whole columns of records written without any package: the pieces of all records interleaved, with no loop over records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import add, itemgetter
from typing import Any, NamedTuple, cast

from kafkawire.message import Header
from kafkawire.protocol.records.varints import VARINTS
from kafkawire.protocol.wire import Buffer

__all__ = [
    "ATTRIBUTES",
    "NO_HEADERS",
    "NULL",
    "Batch",
    "Columns",
    "blocks",
    "encode",
    "encode_header_name",
    "encode_headers",
    "offset_deltas",
    "pair_columns",
    "stamp_runs",
]

NULL = VARINTS[-1]
ATTRIBUTES = b"\0"
"""Attributes of a record: unused (trap 39)."""
NO_HEADERS = VARINTS[0]

_USUAL = 1 << 14
"""Number of offset deltas whose varints are kept in a list: most batches have no more records."""
_WORTH_JOINING = 8
"""Records for each different piece of theirs, from which on it pays to join the pieces to what is before them."""
_WORTH_COPYING = 100
"""Bytes per record up to which a copy of them costs less than handing on a list of their pieces."""
_WORTH_RUN = 16
"""Records with the same timestamp, on average, from which on it pays to write them run by run."""
_PROBES = 8
"""Runs to look at before it counts how short they are."""


class Columns(NamedTuple):
    """Arguments of `encode_columns`: one column for each part of the records."""

    values: Sequence[Buffer | None]
    keys: Sequence[Buffer | None] | None
    timestamps: Sequence[int] | int
    headers: Sequence[Iterable[Header] | None] | None

    def rows(self, start: int, end: int) -> Columns:
        values, keys, timestamps, headers = self
        return Columns(
            values[start:end],
            keys and keys[start:end],
            timestamps if isinstance(timestamps, int) else timestamps[start:end],
            headers and headers[start:end],
        )


class Batch(bytearray):
    """Encoded records behind room for the header of their batch, so that `seal_batch` makes the batch in place."""

    __slots__ = ()


def encode(columns: Columns, base_timestamp: int, first_delta: int) -> list[Buffer]:
    """Encode records: each piece of all records is one column, and the columns are interleaved."""
    count = len(columns.values)
    body = _Body()
    if columns.keys is None:
        body.constant(NULL)
    else:
        body.sized(columns.keys)
    body.sized(columns.values)
    if columns.headers is None:
        body.constant(NO_HEADERS)
    else:
        _add_headers(body, columns.headers)
    # The constant end of a record goes before the length of the next one: a piece less for each record.
    tail = body.before
    heads = _heads(body, tail, columns.timestamps, base_timestamp, first_delta, count)
    parts = _interleave([*heads, offset_deltas(first_delta, first_delta + count), *body.columns], count)
    parts[0] = bytes(parts[0])[len(tail) :]
    parts.append(tail)
    return [b"".join(parts)] if body.widest() <= _WORTH_COPYING else parts


def _heads(
    body: _Body, tail: bytes, timestamps: Sequence[int] | int, base_timestamp: int, first_delta: int, count: int
) -> list[Sequence[Buffer]]:
    """The columns before the offset deltas: `tail`, the length, the attributes and the timestamp, or that in a second one."""
    stamps: list[Sequence[Buffer]] = []
    runs = stamp_runs(timestamps, base_timestamp, count, 1 if body.varying else count // _WORTH_RUN)
    if runs is None:
        each = cast("Sequence[int]", timestamps)
        column = _pick({timestamp: ATTRIBUTES + VARINTS[timestamp - base_timestamp] for timestamp in set(each)}, each)
        body.grow_by(column)
        stamps.append(column)
        runs = [(count, b"")]
    codes, sizes = body.sizes()
    head: list[Buffer] = []
    for start, end, width, stamp in blocks(runs, first_delta, count):
        common = body.common + width + len(stamp)
        if sizes:
            here = codes[start:end]
            different = sizes if len(sizes) < len(here) else set(here)
            head += _pick({code: tail + VARINTS[common + sizes[code]] + stamp for code in different}, here)
        else:
            head += [tail + VARINTS[common] + stamp] * (end - start)
    return [head, *stamps]


def stamp_runs(timestamps: Sequence[int] | int, base_timestamp: int, count: int, most: int) -> list[tuple[int, bytes]] | None:
    """Runs of records with the same timestamp: the end of each, its attributes and timestamp.

    None where there are more than `most` such runs, or clearly will be, and for timestamps that go back.
    """
    if isinstance(timestamps, int):
        return [(count, ATTRIBUTES + VARINTS[timestamps - base_timestamp])]
    runs: list[tuple[int, bytes]] = []
    start = 0
    while start < count:
        timestamp = timestamps[start]
        # Right only for sorted timestamps, therefore the count.
        end = bisect_right(timestamps, timestamp, start)
        if len(runs) >= min(most, _PROBES + most * start // count) or timestamps[start:end].count(timestamp) != end - start:
            return None
        runs.append((end, ATTRIBUTES + VARINTS[timestamp - base_timestamp]))
        start = end
    return runs


def blocks(runs: Iterable[tuple[int, bytes]], first_delta: int, most: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Blocks of up to `most` records of the same run, whose offset deltas take the same number of bytes.

    Yields start, end, that number of bytes, and attributes and timestamp of the run.
    """
    start = 0
    for end_of_run, stamp in runs:
        while start < end_of_run:
            width = len(VARINTS[first_delta + start])
            end = min(end_of_run, start + most, (1 << 7 * width - 1) - first_delta)
            yield start, end, width, stamp
            start = end


def offset_deltas(start: int, end: int) -> list[bytes]:
    if end <= _USUAL:
        return _usual_deltas()[start:end]
    return list(map(VARINTS.__getitem__, range(start, end)))


@cache
def _usual_deltas() -> list[bytes]:
    return list(map(VARINTS.__getitem__, range(_USUAL)))


def _add_headers(body: _Body, headers: Sequence[Iterable[Header] | None]) -> None:
    """Add headers: names and contents are columns too, where all records have the same number of headers."""
    columns = pair_columns(headers)
    if columns is None:
        tails = [encode_headers(row or ()) for row in headers]
        body.column(tails)
        body.grow_by(tails)
        return
    body.constant(VARINTS[len(columns)])
    for column in columns:
        names = [name for name, _ in column]
        encoded = {name: encode_header_name(name) for name in _different(names)}
        body.coded(names, encoded)
        body.grow(names, {name: len(piece) for name, piece in encoded.items()})
        body.sized([content for _, content in column])


def pair_columns(headers: Sequence[Iterable[Header] | None]) -> list[list[Header]] | None:
    """The first headers of all records, the second ones and so on; None if not all have the same number of them."""
    try:
        count, *others = _different(list(map(len, headers)))  # type: ignore[arg-type]  # an iterator has no length
    except TypeError:
        return None
    if others:
        return None
    pairs: list[Header] = []
    extend = pairs.extend
    for row in headers:
        extend(row)  # type: ignore[arg-type]  # None has no length either
    return [pairs[at::count] for at in range(count)]


def encode_headers(headers: Iterable[Header]) -> bytes:
    """Encode the headers of one record. Order and duplicates are kept (trap 37)."""
    parts: list[bytes] = []
    count = 0
    for name, value in headers:
        parts.append(encode_header_name(name))
        parts += (NULL,) if value is None else (VARINTS[len(value)], value)
        count += 1
    return b"".join((VARINTS[count], *parts))


def encode_header_name(name: str) -> bytes:
    encoded = name.encode()
    return VARINTS[len(encoded)] + encoded


class _Body:
    """Parts of all records behind the offset delta: a column for each piece, with a value for each record or one for all."""

    __slots__ = ("before", "columns", "common", "varying")

    def __init__(self) -> None:
        self.columns: list[bytes | Sequence[Buffer]] = []
        self.before = b""
        """Constant bytes that all records have before the next column."""
        self.common = 0
        """Bytes that every record takes."""
        self.varying: list[tuple[Sequence[Any], dict[Any, int]]] = []
        """Sizes that differ: codes, one for each record, and the bytes for each different code."""

    def sizes(self) -> tuple[Sequence[Any], dict[Any, int]]:
        """Codes, one for each record, and the bytes beside the common for each different code; nothing if nothing varies."""
        if not self.varying:
            return (), {}
        (codes, sizes), *others = self.varying
        if not others:
            return codes, sizes
        totals = _pick(sizes, codes)
        for codes, sizes in others:
            totals = tuple(map(add, totals, _pick(sizes, codes)))
        return totals, {total: total for total in set(totals)}

    def widest(self) -> int:
        """Upper bound on the bytes of a record: the largest parts may be of different records."""
        return self.common + sum(max(sizes.values()) for _, sizes in self.varying)

    def grow(self, codes: Sequence[Any], sizes: dict[Any, int]) -> None:
        """Count more bytes for each record, by its code."""
        size, *others = set(sizes.values())
        if others:
            self.varying.append((codes, sizes))
        else:
            self.common += size

    def grow_by(self, items: Sequence[bytes]) -> None:
        """Count the bytes of an item for each record."""
        lengths = tuple(map(len, items))
        self.grow(lengths, {length: length for length in _different(lengths)})

    def constant(self, piece: bytes) -> None:
        """Add bytes that all records have, and count them."""
        self.before += piece
        self.common += len(piece)

    def column(self, items: Sequence[Buffer]) -> None:
        """Add a column with an item for each record."""
        if self.before:
            self.columns.append(self.before)
            self.before = b""
        self.columns.append(items)

    def coded(self, codes: Sequence[Any], pieces: dict[Any, bytes]) -> None:
        """Add a column with the piece of each record's code, without counting its bytes."""
        if len(pieces) == 1:
            self.before += pieces[codes[0]]
            return
        if self.before and len(pieces) * _WORTH_JOINING <= len(codes):
            pieces = {code: self.before + piece for code, piece in pieces.items()}
            self.before = b""
        self.column(_pick(pieces, codes))

    def sized(self, items: Sequence[Buffer | None]) -> None:
        """Add a column of keys, values or header contents, each behind its length."""
        try:
            lengths = tuple(map(len, items))  # type: ignore[arg-type]
        except TypeError:
            lengths = tuple([-1 if item is None else len(item) for item in items])
            items = [b"" if item is None else item for item in items]
        pieces = {length: VARINTS[length] for length in _different(lengths)}
        self.coded(lengths, pieces)
        sizes = {length: len(piece) + length for length, piece in pieces.items()}
        if -1 in sizes:
            sizes[-1] = len(NULL)
        self.grow(lengths, sizes)
        if max(sizes) > 0:
            self.column(items)  # type: ignore[arg-type]


def _different(codes: Sequence[Any]) -> set[Any]:
    """The different values, without making a set where all are equal, which is common."""
    first = codes[0]
    return {first} if first == codes[-1] and codes.count(first) == len(codes) else set(codes)


def _pick(pieces: dict[Any, Any], codes: Sequence[Any]) -> tuple[Any, ...]:
    """The piece of each code, by `itemgetter`, the fastest way, which gives no tuple for a single code."""
    return itemgetter(*codes)(pieces) if len(codes) > 1 else (pieces[codes[0]],)


def _interleave(columns: Sequence[bytes | Sequence[Buffer]], count: int) -> list[Buffer]:
    pattern: list[Buffer] = [column if isinstance(column, bytes) else b"" for column in columns]
    parts = pattern * count
    for at, column in enumerate(columns):
        if not isinstance(column, bytes):
            parts[at :: len(columns)] = column
    return parts

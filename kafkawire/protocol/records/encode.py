"""Writing record batches v2: single records, whole columns of them, and the sealed batch around either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import add
from typing import Any

from kafkawire.errors import EncodeError
from kafkawire.message import Header
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records.layout import (
    BATCH_HEADER,
    BATCH_OVERHEAD,
    CONTROL,
    CRC_AT,
    CRC_FROM,
    LENGTH_END,
    TRANSACTIONAL,
    UINT32,
)
from kafkawire.protocol.records.varints import VARINTS
from kafkawire.protocol.wire import Buffer

__all__ = ["encode_columns", "encode_record", "seal_batch"]

_NULL = VARINTS[-1]
_ATTRIBUTES = b"\0"
"""Of a record: unused (trap 39)."""
_NO_HEADERS = VARINTS[0]

_USUAL = 1 << 14
"""Records that most batches have at most: the varints of their offset deltas are kept in a list."""
_FEW = 8
"""Up to so many records it is faster to write them one by one."""
_WORTH_JOINING = 8
"""Records for each different piece of theirs, from which on it pays to join the pieces to what is before them."""


def encode_record(
    offset_delta: int, timestamp_delta: int, key: Buffer | None, value: Buffer | None, headers: Iterable[Header] | None = None
) -> bytes:
    """One record with its length.

    `timestamp_delta` is in milliseconds after the batch's base timestamp. Raises TypeError for a key or value that is not
    bytes-like.
    """
    stamp = VARINTS[timestamp_delta]
    delta = VARINTS[offset_delta]
    key_size, key = (_NULL, b"") if key is None else (VARINTS[len(key)], key)
    size, value = (_NULL, b"") if value is None else (VARINTS[len(value)], value)
    tail = _encode_headers(headers) if headers else _NO_HEADERS
    length = VARINTS[1 + len(stamp) + len(delta) + len(key_size) + len(key) + len(size) + len(value) + len(tail)]
    return b"".join((length, _ATTRIBUTES, stamp, delta, key_size, key, size, value, tail))


def encode_columns(
    values: Sequence[Buffer | None],
    keys: Sequence[Buffer | None] | None = None,
    timestamps: Sequence[int] | int | None = None,
    headers: Sequence[Iterable[Header] | None] | None = None,
    *,
    base_timestamp: int,
    first_delta: int = 0,
) -> list[Buffer]:
    """The records of whole columns, numbered from `first_delta`.

    `timestamps` (ms) may be one for all; without them all have the base timestamp.
    The parts are not one a record: only their concatenation counts, as `seal_batch` makes it.
    """
    count = len(values)
    same = base_timestamp if timestamps is None else timestamps
    stamps = [same] * count if isinstance(same, int) else same
    if count <= _FEW:
        rows = zip(values, keys or [None] * count, stamps, headers or [None] * count, strict=True)
        return [
            encode_record(delta, timestamp - base_timestamp, key, value, header)
            for delta, (value, key, timestamp, header) in enumerate(rows, first_delta)
        ]
    parts: list[Buffer] = []
    start = 0
    for end in _width_bounds(first_delta, count):
        parts += _encode_rows(
            _offset_deltas(first_delta + start, first_delta + end),
            stamps[start:end],
            base_timestamp,
            keys and keys[start:end],
            values[start:end],
            headers and headers[start:end],
        )
        start = end
    return parts


def _width_bounds(first: int, count: int) -> Iterable[int]:
    """Where the rows end whose offset deltas, counted from `first`, take 1, 2, 3, 4 and 5 bytes."""
    bounds = (min((1 << 7 * width - 1) - first, count) for width in range(1, 6))
    return sorted({bound for bound in bounds if bound > 0})


def _offset_deltas(start: int, end: int) -> list[bytes]:
    if end <= _USUAL:
        return _usual_deltas()[start:end]
    return list(map(VARINTS.__getitem__, range(start, end)))


@cache
def _usual_deltas() -> list[bytes]:
    return list(map(VARINTS.__getitem__, range(_USUAL)))


def _encode_rows(
    deltas: Sequence[bytes],
    timestamps: Sequence[int],
    base_timestamp: int,
    keys: Sequence[Buffer | None] | None,
    values: Sequence[Buffer | None],
    headers: Sequence[Iterable[Header] | None] | None,
) -> list[Buffer]:
    """The records of rows whose offset deltas take the same number of bytes.

    Python touches no record on its own: each piece of all records is one column, and the columns are interleaved. With numpy
    it is slower: that lets go of the GIL at every copy, and a sender beside a busy thread waits up to 5 ms to get it back.
    """
    stamps = {time: _ATTRIBUTES + VARINTS[time - base_timestamp] for time in _different(timestamps)}
    body = _Columns()
    body.grow(timestamps, {time: len(stamp) for time, stamp in stamps.items()})
    body.column(deltas)
    body.common += len(deltas[0])
    if keys is None:
        body.constant(_NULL)
    else:
        body.sized(keys)
    body.sized(values)
    if headers is None:
        body.constant(_NO_HEADERS)
    else:
        _add_headers(body, headers)
    # What all records end with goes before the length of the next one: a piece less for each record.
    tail = body.before
    head = _Columns()
    head.before = tail
    codes, lengths = body.lengths()
    head.coded(codes, {code: VARINTS[length] for code, length in lengths.items()})
    head.coded(timestamps, stamps)
    parts = _interleave([*head.columns, head.before, *body.columns], len(deltas))
    parts[0] = bytes(parts[0])[len(tail) :]
    parts.append(tail)
    return parts


def _add_headers(body: _Columns, headers: Sequence[Iterable[Header] | None]) -> None:
    """Names and contents are columns as well, where all records have the same number of headers.

    One that is no pair shifts the others, and brings text to where only bytes go.
    """
    count = _common_length(headers)
    flat: list[Any] = [] if count is None else list(chain.from_iterable(chain.from_iterable(headers)))  # type: ignore[arg-type]
    if count is None or len(flat) != 2 * count * len(headers):
        tails = [_encode_headers(row or ()) for row in headers]
        body.column(tails)
        body.grow(tails, {tail: len(tail) for tail in tails})
        return
    body.constant(VARINTS[count])
    for at in range(0, 2 * count, 2):
        names = flat[at :: 2 * count]
        encoded = {name: _header_name(name) for name in _different(names)}
        body.coded(names, encoded)
        body.grow(names, {name: len(piece) for name, piece in encoded.items()})
        body.sized(flat[at + 1 :: 2 * count])


def _common_length(items: Sequence[Any]) -> int | None:
    """How long all of them are, None if they differ or one has no length."""
    try:
        length, *others = _different(list(map(len, items)))
    except TypeError:
        return None
    return None if others else length


def _different(codes: Sequence[Any]) -> set[Any]:
    """Without making a set where all are the same, which is common."""
    first = codes[0]
    return {first} if first == codes[-1] and codes.count(first) == len(codes) else set(codes)


class _Columns:
    """The pieces of records, a column for each: as many pieces as there are records, or one that all of them have."""

    __slots__ = ("_varying", "before", "columns", "common")

    def __init__(self) -> None:
        self.columns: list[bytes | Sequence[Buffer]] = []
        self.before = b""
        """What all records have before the next column."""
        self.common = 0
        """Bytes that every record takes."""
        self._varying: list[tuple[Sequence[Any], dict[Any, int]]] = []
        """What each takes besides: codes, one for each record, and the bytes for each different code."""

    def lengths(self) -> tuple[Sequence[Any], dict[Any, int]]:
        """Codes, one for each record, and the bytes that a record takes for each different code."""
        if not self._varying:
            return (None,), {None: self.common}
        (codes, sizes), *others = self._varying
        if not others:
            return codes, {code: self.common + size for code, size in sizes.items()}
        totals = list(map(sizes.__getitem__, codes))
        for codes, sizes in others:
            totals = list(map(add, totals, map(sizes.__getitem__, codes)))
        return totals, {total: self.common + total for total in set(totals)}

    def grow(self, codes: Sequence[Any], sizes: dict[Any, int]) -> None:
        """Each record takes more bytes, as many as its code says."""
        size, *others = set(sizes.values())
        if others:
            self._varying.append((codes, sizes))
        else:
            self.common += size

    def constant(self, piece: bytes) -> None:
        """Something that all records have, and which they grow by."""
        self.before += piece
        self.common += len(piece)

    def column(self, items: Sequence[Buffer]) -> None:
        """Something else for each record."""
        if self.before:
            self.columns.append(self.before)
            self.before = b""
        self.columns.append(items)

    def coded(self, codes: Sequence[Any], pieces: dict[Any, bytes]) -> None:
        """The piece of its code for each record. It does not grow the records, as their length is such a piece too."""
        if len(pieces) == 1:
            self.before += pieces[codes[0]]
            return
        if self.before and len(pieces) * _WORTH_JOINING <= len(codes):
            pieces = {code: self.before + piece for code, piece in pieces.items()}
            self.before = b""
        self.column(list(map(pieces.__getitem__, codes)))

    def sized(self, items: Sequence[Buffer | None]) -> None:
        """A key or value for each record, behind its length."""
        try:
            lengths = list(map(len, items))  # type: ignore[arg-type]
        except TypeError:
            lengths = [-1 if item is None else len(item) for item in items]
            items = [b"" if item is None else item for item in items]
        pieces = {length: VARINTS[length] for length in _different(lengths)}
        self.coded(lengths, pieces)
        sizes = {length: len(piece) + length for length, piece in pieces.items()}
        if -1 in sizes:
            sizes[-1] = len(_NULL)
        self.grow(lengths, sizes)
        if max(sizes) > 0:
            self.column(items)  # type: ignore[arg-type]


def _interleave(columns: Sequence[bytes | Sequence[Buffer]], count: int) -> list[Buffer]:
    kept = [column for column in columns if len(column)]
    parts: list[Buffer] = [b""] * (count * len(kept))
    for at, column in enumerate(kept):
        parts[at :: len(kept)] = [column] * count if isinstance(column, bytes) else column
    return parts


def _encode_headers(headers: Iterable[Header]) -> bytes:
    """Order and duplicates are kept (trap 37)."""
    parts: list[bytes] = []
    count = 0
    for name, value in headers:
        parts.append(_header_name(name))
        parts += (_NULL,) if value is None else (VARINTS[len(value)], value)
        count += 1
    return b"".join((VARINTS[count], *parts))


def _header_name(name: str) -> bytes:
    encoded = name.encode()
    return VARINTS[len(encoded)] + encoded


def seal_batch(
    parts: Iterable[Buffer],
    *,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """The whole batch of `count` encoded records, with base offset 0 and its checksum.

    Timestamps are in milliseconds, `max_timestamp` the true maximum (trap 34). Without an idempotent producer, its id,
    epoch and sequence are -1. Raises EncodeError for a batch of 2 GiB or more, and what `compress` raises.
    """
    header = bytes(BATCH_OVERHEAD)
    if codec is Codec.NONE:
        batch = bytearray().join([header, *parts])
    else:
        batch = bytearray().join((header, compress(codec, b"".join(parts), level)))
    if len(batch) > 0x7FFFFFFF:
        raise EncodeError(f"a batch of {len(batch)} bytes: the format ends at 2 GiB, send fewer records at once")
    BATCH_HEADER.pack_into(
        batch,
        0,
        0,  # base offset: the broker's to give
        len(batch) - LENGTH_END,
        -1,  # leader epoch: likewise
        2,
        0,
        codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0),
        count - 1,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    UINT32.pack_into(batch, CRC_AT, crc32c(memoryview(batch)[CRC_FROM:]))
    return batch

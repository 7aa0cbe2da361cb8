"""Writing record batches v2: single records, columns of them (with numpy where it pays), and the sealed batch around either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kafkawire.errors import EncodeError
from kafkawire.message import Header
from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records import encode_pure
from kafkawire.protocol.records.encode_pure import ATTRIBUTES, NO_HEADERS, NULL, Batch, Columns, encode_headers
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

_FEW = 8
"""Up to so many records it is faster to write them one by one."""
_WORTH_NUMPY = 500
"""Below this many records numpy saves less than 25 µs, which is not worth its import in a program that sends little."""


def encode_record(
    offset_delta: int, timestamp_delta: int, key: Buffer | None, value: Buffer | None, headers: Iterable[Header] | None = None
) -> bytes:
    """One record with its length.

    `timestamp_delta` is in milliseconds after the batch's base timestamp. Raises TypeError for a key or value that is not
    bytes-like.
    """
    stamp = VARINTS[timestamp_delta]
    delta = VARINTS[offset_delta]
    key_size, key = (NULL, b"") if key is None else (VARINTS[len(key)], key)
    size, value = (NULL, b"") if value is None else (VARINTS[len(value)], value)
    tail = encode_headers(headers) if headers else NO_HEADERS
    length = VARINTS[1 + len(stamp) + len(delta) + len(key_size) + len(key) + len(size) + len(value) + len(tail)]
    return b"".join((length, ATTRIBUTES, stamp, delta, key_size, key, size, value, tail))


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

    `timestamps` (ms) may be one for all; without them all records have the base timestamp.
    The parts do not correspond to records: only their concatenation counts, which `seal_batch` makes.
    """
    count = len(values)
    times = base_timestamp if timestamps is None else timestamps
    if count <= _FEW:
        stamps = [times] * count if isinstance(times, int) else times
        rows = zip(values, keys or [None] * count, stamps, headers or [None] * count, strict=True)
        return [
            encode_record(delta, timestamp - base_timestamp, key, value, header)
            for delta, (value, key, timestamp, header) in enumerate(rows, first_delta)
        ]
    encode = encode_pure.encode if count < _WORTH_NUMPY else _encoder.get()
    return encode(Columns(values, keys, times, headers), base_timestamp, first_delta)


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
        batch = _batch_around(parts) or bytearray().join([header, *parts])
    else:
        batch = bytearray().join((header, compress(codec, b"".join(parts), level)))
    if len(batch) > 0x7FFFFFFF:
        raise EncodeError(f"a batch of {len(batch)} bytes: the format ends at 2 GiB, send fewer records at once")
    BATCH_HEADER.pack_into(
        batch,
        0,
        0,  # base offset: set by the broker
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


def _batch_around(parts: Iterable[Buffer]) -> bytearray | None:
    """The buffer of the only part, if it has room for the header and no batch was made of it before."""
    if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], memoryview):
        return None
    batch = parts[0].obj
    return batch if isinstance(batch, Batch) and not any(batch[:BATCH_OVERHEAD]) else None


def _numpy() -> Callable[[Columns, int, int], list[Buffer]]:
    from kafkawire.protocol.records.encode_numpy import encode

    return encode


def _pure() -> Callable[[Columns, int, int], list[Buffer]]:
    return encode_pure.encode


_encoder: Accelerated[Callable[[Columns, int, int], list[Buffer]]] = Accelerated(
    "records of one shape", ("numpy", _numpy), ("pure Python", _pure)
)

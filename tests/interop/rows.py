"""Records to send and to compare with what was read, and the two calls that most tests begin and end with."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.interop.faces import TIMEOUT, Face

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire import Message, RecordMetadata

__all__ = ["HOUR_AGO", "Row", "bulk", "messages", "plain", "read", "rows_of", "varied", "write"]

HOUR_AGO = int(time.time() * 1000) - 3_600_000
"""A time that no broker finds too old to keep or too far in the future."""


class Row(NamedTuple):
    """One record as its producer and its reader agree on it; timestamp in milliseconds."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def varied(count: int = 60) -> list[Row]:
    """Every kind of record: null, empty and large keys and values, times out of order, headers that repeat or are null."""
    kinds = [
        Row(b"value"),
        Row(b"value", b"key"),
        Row(None, b"tombstone"),
        Row(b"", b""),
        Row(None, None),
        Row(bytes(range(256)) * 40, "schlüssel".encode()),
        Row(b"one header", b"key", headers=(("name", b"value"),)),
        Row(b"some headers", None, headers=(("a", b"1"), ("b", b""), ("a", None), ("größe", b"\xff\x00"))),
    ]
    rows = [kinds[number % len(kinds)]._replace(timestamp=HOUR_AGO + number * 7919 % 1000) for number in range(count)]
    rows.append(Row(random.Random(count).randbytes(300_000), b"large", HOUR_AGO))
    return rows


def plain(rows: Iterable[Row], *, timestamps: bool = False) -> list[Row]:
    """Rows without headers, which came with 0.11, and without timestamps, which came with 0.10."""
    return [Row(row.value, row.key, row.timestamp if timestamps else None) for row in rows]


def bulk(size: int, *, noise: int = 100, length: int = 1000) -> list[bytes]:
    """Values of `size` bytes together, of which `noise` in every `length` do not compress."""
    source = random.Random(size)
    return [source.randbytes(noise) + bytes([number % 251]) * (length - noise) for number in range(size // length)]


def write(face: Face, producer: Any, topic: str, rows: Iterable[Row], partition: int | None = None) -> list[RecordMetadata]:
    """Send the rows and return where each was written."""
    sent = [producer.send(topic, row.value, row.key, partition, row.timestamp, row.headers or None) for row in rows]
    producer.flush(timeout=TIMEOUT)
    return [face.result(each) for each in sent]


def messages(face: Face, topic: str, **options: Any) -> list[Message]:
    """All messages of a topic."""
    with face.consumer(topic, auto_offset_reset="earliest", stop_at_end=True, **options) as consumer:
        return list(consumer)


def rows_of(found: Sequence[Message]) -> list[Row]:
    """Messages in the form of the rows that were sent."""
    return [Row(message.value, message.key, message.timestamp, message.headers) for message in found]


def read(face: Face, topic: str, **options: Any) -> list[Row]:
    """All messages of a topic in the form of the rows that were sent."""
    return rows_of(messages(face, topic, **options))

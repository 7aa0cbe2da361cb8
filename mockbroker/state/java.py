"""Java's hash of strings: Kafka finds coordinators by it, and the order of its hash maps decides ties of votes."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["hash_order", "string_hash"]

_BUCKETS = 16
"""Buckets of a HashMap with up to 12 entries."""


def string_hash(text: str) -> int:
    """`String.hashCode()`: a signed number of 32 bits."""
    value = 0
    utf16 = text.encode("utf-16-be")
    for at in range(0, len(utf16), 2):
        value = 31 * value + (utf16[at] << 8 | utf16[at + 1]) & 0xFFFFFFFF
    return value - (value >> 31 << 32)


def hash_order(texts: Iterable[str]) -> list[str]:
    """Sort distinct strings, at most 12, in the order in which a HashMap walks them."""

    def bucket(text: str) -> int:
        value = string_hash(text)
        return (value ^ value >> 16) % _BUCKETS

    return sorted(texts, key=bucket)

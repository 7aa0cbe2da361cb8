"""LZ77 for snappy and LZ4: finds repeats in a block, and copies from earlier output."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["copy_back", "repeats"]

_SHORTEST = 4
"""Fewest bytes of a repeat in both formats."""
_WINDOW = 65535
_PATIENCE = 5
"""Logarithm of the misses in a row after which the search begins to skip bytes, so that random data costs little."""


def repeats(block: bytes, search_end: int, match_end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, length, distance) of repeats, greedily and left to right.

    They start before `search_end` and end at or before `match_end`; what lies between them is literal.
    """
    seen: dict[bytes, int] = {}
    at = 0
    misses = 0
    while at < search_end:
        word = block[at : at + _SHORTEST]
        earlier = seen.get(word)
        seen[word] = at
        if earlier is None or at - earlier > _WINDOW:
            misses += 1
            at += 1 + (misses >> _PATIENCE)
            continue
        length = _common(block, earlier, at, match_end)
        yield at, length, at - earlier
        at += length
        misses = 0


def _common(block: bytes, earlier: int, at: int, end: int) -> int:
    """Number of bytes from `at` on that equal the bytes from `earlier` on."""
    length = _SHORTEST
    step = 16
    while (
        at + length + step <= end
        and block[earlier + length : earlier + length + step] == block[at + length : at + length + step]
    ):
        length += step
        step *= 2
    while at + length < end and block[earlier + length] == block[at + length]:
        length += 1
    return length


def copy_back(out: bytearray, distance: int, length: int) -> None:
    """Append `length` bytes that start `distance` back; they may overlap what is being appended."""
    start = len(out) - distance
    if distance <= 0 or start < 0:
        raise ValueError("a repeat points before the start of the block")
    if length <= distance:
        out += out[start : start + length]
        return
    pattern = bytes(out[start:])
    out += (pattern * (length // distance + 1))[:length]

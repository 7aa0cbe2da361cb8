"""Sequence numbers: by these a broker tells a batch that is sent again from a new one (KIP-98).

The records of a partition are numbered one by one under a producer id; a batch carries the number of its first record.
"""

from __future__ import annotations

__all__ = ["NO_SEQUENCE", "SequenceNumbers", "advance"]

NO_SEQUENCE = -1
"""Base sequence of a batch that is not numbered."""

_MASK = 0x7FFFFFFF


def advance(sequence: int, count: int) -> int:
    """Return the sequence number `count` records after `sequence`; 0 follows 2^31-1 (trap 28)."""
    return (sequence + count) & _MASK


class SequenceNumbers:
    """Sequence numbers of one partition under the present producer id. Used with the accumulator's lock held."""

    __slots__ = ("_next",)

    def __init__(self, first: int = 0) -> None:
        self._next = first

    def take(self, count: int) -> int:
        """Return the first of the next `count` numbers, which nobody else gets."""
        first = self._next
        self._next = advance(first, count)
        return first

    def restart(self) -> None:
        """Count from 0 again, under a new producer id or epoch."""
        self._next = 0

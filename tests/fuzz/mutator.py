"""Makes bad bytes of good ones: a few changes at a time, of the kinds that damage a binary protocol in its own ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

__all__ = ["Mutator"]

LONGEST: Final = 8192
"""Bytes; what grows longer is cut."""
POOL: Final = 2000
"""Inputs kept to make others of."""

NUMBERS: Final = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFE,
    0xFFFFFFFF,
)
"""Boundaries of lengths and signs, in 1 to 8 bytes of either order and as varints."""


class Mutator:
    """Endless inputs out of some seeds. The same `dice` in the same state give the same inputs.

    `keep` is the number of leading bytes that are never changed: those that say what the rest is.
    """

    def __init__(self, seeds: Sequence[bytes], dice: Random, keep: int = 0) -> None:
        self._pool = list(seeds)
        self._dice = dice
        self._keep = keep

    def make(self) -> bytes:
        """The next input."""
        chosen = self._dice.choice(self._pool)
        data = bytearray(chosen[self._keep :])
        for _ in range(self._dice.choice((1, 1, 1, 2, 3, 5, 8))):
            self._dice.choice(self._changes)(self, data)
        return chosen[: self._keep] + bytes(data[:LONGEST])

    def remember(self, data: bytes) -> None:
        """Make others of this one too: it was valid, so what follows may lead further."""
        if len(self._pool) < POOL:
            self._pool.append(data)
        else:
            self._pool[self._dice.randrange(POOL)] = data

    def _place(self, data: bytearray) -> int:
        return self._dice.randint(0, len(data))

    def _span(self, data: bytearray) -> tuple[int, int]:
        """Start and end of a random piece, mostly a short one."""
        start = self._place(data)
        return start, min(len(data), start + self._dice.choice((1, 2, 4, 8, self._dice.randint(0, 64))))

    def _flip_bit(self, data: bytearray) -> None:
        if data:
            data[self._dice.randrange(len(data))] ^= 1 << self._dice.randrange(8)

    def _set_byte(self, data: bytearray) -> None:
        if data:
            data[self._dice.randrange(len(data))] = self._dice.randrange(256)

    def _step_byte(self, data: bytearray) -> None:
        """One more or one less: lengths that are nearly right."""
        if data:
            at = self._dice.randrange(len(data))
            data[at] = (data[at] + self._dice.choice((-2, -1, 1, 2))) & 0xFF

    def _write_number(self, data: bytearray) -> None:
        at, number = self._place(data), self._dice.choice(NUMBERS)
        if self._dice.random() < 0.3:
            written = _varint(number)
        else:
            size = self._dice.choice((1, 2, 4, 8))
            written = (number & ((1 << 8 * size) - 1)).to_bytes(size, self._dice.choice(("big", "little")))
        data[at : at + len(written) * self._dice.randint(0, 1)] = written

    def _insert(self, data: bytearray) -> None:
        at = self._place(data)
        data[at:at] = self._dice.randbytes(self._dice.choice((1, 2, 4, 16)))

    def _remove(self, data: bytearray) -> None:
        start, end = self._span(data)
        del data[start:end]

    def _repeat(self, data: bytearray) -> None:
        start, end = self._span(data)
        data[end:end] = data[start:end] * self._dice.choice((1, 1, 2, 50))

    def _move(self, data: bytearray) -> None:
        start, end = self._span(data)
        piece = data[start:end]
        del data[start:end]
        at = self._place(data)
        data[at:at] = piece

    def _cut(self, data: bytearray) -> None:
        del data[self._place(data) :]

    def _cross(self, data: bytearray) -> None:
        """The end of another input behind the beginning of this one."""
        other = self._dice.choice(self._pool)[self._keep :]
        data[self._place(data) :] = other[self._dice.randint(0, len(other)) :]

    _changes = (_flip_bit, _set_byte, _step_byte, _write_number, _insert, _remove, _repeat, _move, _cut, _cross)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)

"""Murmur2 as Kafka's Java client hashes keys, for one key, or for many at once with numpy (trap 116)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct

from kafkawire.protocol.accelerators import Accelerated

__all__ = ["murmur2", "murmur2_many"]

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
"""Java's Utils.toPositive: the sign bit is dropped; abs() would send some keys elsewhere."""

_HashMany = Callable[[Sequence[bytes]], list[int]]


def murmur2(key: bytes) -> int:
    """The hash of a key, 0 to 2**31 - 1; the partition is this modulo the number of all partitions."""
    length = len(key)
    words = length >> 2
    state = _SEED ^ length
    for word in _words(words)(key):
        mixed = word * _M & _MASK
        state = (state * _M ^ (mixed ^ mixed >> 24) * _M) & _MASK
    if length & 3:
        state = (state ^ int.from_bytes(key[words * 4 :], "little")) * _M & _MASK
    state = (state ^ state >> 13) * _M & _MASK
    return (state ^ state >> 15) & _POSITIVE


@lru_cache(maxsize=256)
def _words(count: int) -> Callable[[bytes], tuple[int, ...]]:
    """Format that unpacks the first `count` words of a key in one call."""
    return Struct(f"<{count}I").unpack_from


def murmur2_many(keys: Sequence[bytes]) -> list[int]:
    """The hash of each key; null keys have no hash and may not be among them."""
    return _many.get()(keys)


def _with_numpy() -> _HashMany:
    from kafkawire.protocol.murmur2_numpy import hash_many

    return hash_many


def _pure() -> _HashMany:
    return lambda keys: [murmur2(key) for key in keys]


_many: Accelerated[_HashMany] = Accelerated("murmur2 of many keys", ("numpy", _with_numpy), ("pure Python", _pure))

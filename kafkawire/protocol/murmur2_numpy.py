"""Murmur2 of many keys at once with numpy: keys of one length advance together, a word of each per step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["hash_many"]

_SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)
_POSITIVE = np.uint32(0x7FFFFFFF)

_Bytes = npt.NDArray[np.uint8]
_Words = npt.NDArray[np.uint32]
_Positions = npt.NDArray[np.int64]


def hash_many(keys: Sequence[bytes]) -> list[int]:
    """The hash of each key, as `murmur2.murmur2` gives it."""
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    data = np.frombuffer(b"".join(keys), np.uint8)
    if len(keys) and (lengths == lengths[0]).all():
        return _hash_rows(data.reshape(len(keys), -1)).tolist()  # type: ignore[no-any-return]
    return _hash_mixed(data, lengths).tolist()  # type: ignore[no-any-return]


def _hash_mixed(data: _Bytes, lengths: _Positions) -> _Words:
    """Group the keys by length, shortest first."""
    starts = np.cumsum(lengths) - lengths
    by_length = np.argsort(lengths, kind="stable")
    bounds = np.flatnonzero(np.diff(lengths[by_length])) + 1
    hashes = np.empty(len(lengths), np.uint32)
    for rows in np.split(by_length, bounds):
        if len(rows):
            hashes[rows] = _hash_rows(data[starts[rows][:, None] + np.arange(lengths[rows[0]])])
    return hashes


def _hash_rows(keys: _Bytes) -> _Words:
    """The hashes of keys of one length, a row each. Arithmetic on uint32 arrays wraps, as it should."""
    count, length = keys.shape
    whole = length & ~3
    words = np.ascontiguousarray(keys[:, :whole]).view("<u4").astype(np.uint32, copy=False)
    state = np.full(count, _SEED ^ length, np.uint32)
    for column in range(whole >> 2):
        word = words[:, column] * _M
        word ^= word >> 24
        state *= _M
        state ^= word * _M
    if length & 3:
        for byte in range(whole, length):
            state ^= keys[:, byte].astype(np.uint32) << np.uint32(8 * (byte - whole))
        state *= _M
    state ^= state >> 13
    state *= _M
    state ^= state >> 15
    return state & _POSITIVE

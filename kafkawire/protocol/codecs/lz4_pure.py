"""LZ4 blocks in pure Python, used where no LZ4 library is installed (lz4_Block_format.md of lz4/lz4)."""

from __future__ import annotations

from kafkawire.protocol.codecs.lz77 import copy_back, repeats

__all__ = ["compress_block", "decompress_block"]

_LAST_LITERALS = 5
_LAST_SEARCH = 12
"""Bytes at the end of a block in which no repeat may start; the last five bytes are literal."""


def compress_block(block: bytes) -> bytes:
    """Compress one block of at most 64 KiB."""
    out = bytearray()
    done = 0
    for at, length, distance in repeats(block, len(block) - _LAST_SEARCH, len(block) - _LAST_LITERALS):
        _put_literal(out, block[done:at], length - 4)
        out += distance.to_bytes(2, "little")
        _put_length(out, length - 4)
        done = at + length
    _put_literal(out, block[done:], 0)
    return bytes(out)


def _put_literal(out: bytearray, literal: bytes, repeat: int) -> None:
    """The token, which holds the start of both lengths, and the literal."""
    out.append(min(len(literal), 15) << 4 | min(repeat, 15))
    _put_length(out, len(literal))
    out += literal


def _put_length(out: bytearray, length: int) -> None:
    if length >= 15:
        full, rest = divmod(length - 15, 255)
        out += b"\xff" * full
        out.append(rest)


def decompress_block(block: bytes, most: int, window: bytes = b"") -> bytes:
    """Decompress a block, to `most` bytes at the most; `window` is the output before it, for linked blocks.

    Raises ValueError or IndexError on bad data.
    """
    out = bytearray(window)
    most += len(window)
    at = 0
    while True:
        token = block[at]
        at += 1
        length, at = _length(block, at, token >> 4)
        end = at + length
        if end > len(block) or len(out) + length > most:
            raise ValueError("an LZ4 literal reaches past the end of its block")
        out += block[at:end]
        if end == len(block):
            return bytes(out[len(window) :])
        distance = block[end] | block[end + 1] << 8
        length, at = _length(block, end + 2, token & 15)
        if len(out) + length + 4 > most:
            raise ValueError("more bytes come out of an LZ4 block than it may hold")
        copy_back(out, distance, length + 4)


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    """Read a length; one of 15 goes on in the bytes that follow, up to the first below 255."""
    if length == 15:
        while True:
            byte = block[at]
            at += 1
            length += byte
            if byte < 255:
                break
    return length, at

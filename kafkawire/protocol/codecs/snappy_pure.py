"""Raw snappy blocks in pure Python, used where no snappy library is installed (format_description.txt of google/snappy)."""

from __future__ import annotations

from kafkawire.protocol.codecs.lz77 import copy_back, repeats

__all__ = ["compress_block", "decompress_block"]

_BLOCK = 1 << 16
"""Bytes of a block; repeats do not reach across blocks, so two bytes hold every distance."""


def compress_block(data: bytes) -> bytes:
    """Compress data to raw snappy: its size, then literals and copies."""
    out = bytearray(_varint(len(data)))
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        done = 0
        for at, length, distance in repeats(block, len(block) - 3, len(block)):
            _put_literal(out, block[done:at])
            _put_copy(out, distance, length)
            done = at + length
        _put_literal(out, block[done:])
    return bytes(out)


def decompress_block(data: bytes, size: int) -> bytes:
    """Decompress raw snappy data, given behind its size, to `size` bytes. Raises ValueError or IndexError on bad data."""
    out = bytearray()
    at = 0
    end = len(data)
    while at < end:
        tag = data[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            at = _take_literal(out, data, at, tag >> 2)
        elif kind == 1:
            copy_back(out, (tag >> 5) << 8 | data[at], 4 + (tag >> 2 & 7))
            at += 1
        else:
            width = 2 if kind == 2 else 4
            copy_back(out, int.from_bytes(data[at : at + width], "little"), 1 + (tag >> 2))
            at += width
        if len(out) > size:
            raise ValueError("more bytes come out than the snappy block announces")
    if len(out) != size or at != end:
        raise ValueError("the snappy block is cut short")
    return bytes(out)


def _take_literal(out: bytearray, data: bytes, at: int, length: int) -> int:
    if length >= 60:
        width = length - 59
        length = int.from_bytes(data[at : at + width], "little")
        at += width
    end = at + length + 1
    if end > len(data):
        raise ValueError("a snappy literal is cut short")
    out += data[at:end]
    return end


def _put_literal(out: bytearray, literal: bytes) -> None:
    length = len(literal) - 1
    if length < 0:
        return
    if length < 60:
        out.append(length << 2)
    else:
        width = 1 if length < 256 else 2
        out.append((59 + width) << 2)
        out += length.to_bytes(width, "little")
    out += literal


def _put_copy(out: bytearray, distance: int, length: int) -> None:
    while length:
        piece = min(length, 64)
        out.append((piece - 1) << 2 | 2)
        out += distance.to_bytes(2, "little")
        length -= piece


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

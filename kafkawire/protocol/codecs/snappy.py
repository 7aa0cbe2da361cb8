"""Snappy as Kafka has it: writes xerial framing around raw blocks, and reads that or one bare block (trap 56)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.wire import Buffer

__all__ = ["compress", "decompress", "implementation"]

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
"""Magic, version, oldest version that can read this."""
_CHUNK = 32 * 1024
"""Java's block size."""


class _SnappyBlocks(NamedTuple):
    """A raw snappy implementation."""

    compress: Callable[[Buffer], bytes]
    decompress: Callable[[Buffer, int, int], bytes]
    """Decompresses a block, given the size it announces and the index of its data behind that."""


def compress(data: Buffer, level: int | None, magic: int) -> bytes:
    view = memoryview(data)
    parts = [_HEADER]
    for start in range(0, len(view), _CHUNK):
        block = implementation.get().compress(view[start : start + _CHUNK])
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def decompress(data: Buffer, limit: int, magic: int) -> bytes:
    view = memoryview(data)
    if view[:8] != _MAGIC:
        return _decompress_block(view, limit)
    parts = []
    at = 0
    while at < len(view):
        if view[at : at + 8] == _MAGIC:  # streams that were written one after the other
            at += len(_HEADER)
            continue
        size = int.from_bytes(view[at : at + 4], "big", signed=True)
        at += 4
        if not 0 <= size <= len(view) - at:
            raise ValueError(f"a snappy chunk of {size} bytes with {len(view) - at} left")
        part = _decompress_block(view[at : at + size], limit)
        limit -= len(part)
        parts.append(part)
        at += size
    return b"".join(parts)


def _decompress_block(block: memoryview, limit: int) -> bytes:
    size = 0
    for at in range(5):
        byte = block[at]
        size |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            break
    else:
        raise ValueError("the size of a snappy block is malformed")
    if size > limit:
        raise ValueError(f"a snappy block announces {size} bytes")
    return implementation.get().decompress(block, size, at + 1)


def _python_snappy() -> _SnappyBlocks:
    module = import_module("snappy")
    return _SnappyBlocks(module.compress, lambda block, size, start: module.uncompress(block))


def _pyarrow() -> _SnappyBlocks:
    codec = import_module("pyarrow").Codec("snappy")
    return _SnappyBlocks(
        lambda data: codec.compress(data, asbytes=True), lambda block, size, start: codec.decompress(block, size, asbytes=True)
    )


def _pure() -> _SnappyBlocks:
    from kafkawire.protocol.codecs.snappy_pure import compress_block, decompress_block

    return _SnappyBlocks(
        lambda data: compress_block(bytes(data)), lambda block, size, start: decompress_block(bytes(block[start:]), size)
    )


implementation: Accelerated[_SnappyBlocks] = Accelerated(
    "snappy", ("python-snappy", _python_snappy), ("pyarrow", _pyarrow), ("pure Python", _pure)
)

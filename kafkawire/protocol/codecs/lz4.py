"""LZ4 frames as Kafka has them: writes one frame of independent 64 KiB blocks, reads every kind but dictionaries.

Frames are handled here and only blocks by a library, because the frame writers of the libraries link blocks, which Java
refuses (trap 53), none knows Kafka's old header checksum (trap 51), and most cannot bound their output.
Block and content checksums are skipped: the batch's own checksum covers them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.wire import Buffer

__all__ = ["compress", "decompress", "implementation"]

_MAGIC = (0x184D2204).to_bytes(4, "little")
_VERSION = 0x40
_INDEPENDENT = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_CONTENT_CHECKSUM = 0x04
_RESERVED = 0x02
_DICTIONARY = 0x01
_64_KIB = 0x40
_BLOCK = 64 * 1024
_STORED = 0x80000000
"""Bit in the size of a block that is not compressed."""


class _Lz4Blocks(NamedTuple):
    """An LZ4 block implementation."""

    compress: Callable[[memoryview, int | None], Buffer]
    decompress: Callable[[memoryview, int], Buffer]
    """Decompresses a block to at most so many bytes."""
    decompress_linked: Callable[[memoryview, int, bytes], Buffer]
    """Decompresses a block that refers to output of the blocks before it."""


def compress(data: Buffer, level: int | None, magic: int) -> bytes:
    view = memoryview(data)
    descriptor = bytes((_VERSION | _INDEPENDENT, _64_KIB))
    parts: list[Buffer] = [_MAGIC, descriptor, _header_checksum(descriptor, magic)]
    for start in range(0, len(view), _BLOCK):
        block: Buffer = view[start : start + _BLOCK]
        packed = implementation.get().compress(view[start : start + _BLOCK], level)
        if len(packed) < len(block):
            parts += (len(packed).to_bytes(4, "little"), packed)
        else:
            parts += ((len(block) | _STORED).to_bytes(4, "little"), block)
    return b"".join((*parts, bytes(4)))


def decompress(data: Buffer, limit: int, magic: int) -> bytes:
    """Decompress all frames; Java writes one and reads one, but several are harmless (trap 54)."""
    view = memoryview(data)
    parts: list[Buffer] = []
    at = 0
    while at < len(view):
        flags, block_size, content_size, at = _read_header(view, at, magic)
        size, at = _read_blocks(view, at, flags, block_size, limit, parts)
        limit -= size
        if content_size is not None and content_size != size:
            raise ValueError(f"an LZ4 frame holds {size} bytes and announces {content_size}")
    return b"".join(parts)


def _read_header(view: memoryview, at: int, magic: int) -> tuple[int, int, int | None, int]:
    """Flags, largest block size, content size if present, and where the blocks begin."""
    if view[at : at + 4] != _MAGIC:
        raise ValueError("not an LZ4 frame")
    start = at + 4
    flags, sizes = view[start], view[start + 1]
    at = start + 2
    if flags & 0xC0 != _VERSION or flags & _RESERVED or not 0x40 <= sizes <= 0x70 or sizes & 0x0F:
        raise ValueError(f"unknown LZ4 frame flags {flags:#x} {sizes:#x}")
    if flags & _DICTIONARY:
        raise ValueError("LZ4 frames with a dictionary are not part of the Kafka protocol")
    content_size = None
    if flags & _CONTENT_SIZE:
        content_size = int.from_bytes(view[at : at + 8], "little")
        at += 8
    # Magic 0 is read without this check, as Java does: both checksums are found on disk (trap 51).
    if magic and view[at : at + 1] != _header_checksum(bytes(view[start:at]), magic):
        raise ValueError("the LZ4 frame header does not match its checksum")
    return flags, 1 << (2 * (sizes >> 4) + 8), content_size, at + 1


def _read_blocks(view: memoryview, at: int, flags: int, block_size: int, limit: int, parts: list[Buffer]) -> tuple[int, int]:
    """Append all blocks of a frame to `parts`; returns how many bytes they hold, and where the frame ends."""
    blocks = implementation.get()
    window = b""
    total = 0
    while True:
        size = int.from_bytes(view[at : at + 4], "little")
        stored = size & _STORED
        size &= ~_STORED
        at += 4
        if at + size > len(view):
            raise ValueError("the LZ4 frame is cut short")
        if not size:
            break
        block = view[at : at + size]
        most = min(block_size, limit - total)
        if stored:
            part: Buffer = block
        elif window:
            part = blocks.decompress_linked(block, most, window)
        else:
            part = blocks.decompress(block, most)
        if len(part) > most:
            raise ValueError("too many bytes come out")
        if not flags & _INDEPENDENT:
            window = (window + part)[-_BLOCK:]
        parts.append(part)
        total += len(part)
        at += size + (4 if flags & _BLOCK_CHECKSUM else 0)
    if flags & _CONTENT_CHECKSUM:
        at += 4
    if at > len(view):
        raise ValueError("the LZ4 frame is cut short")
    return total, at


def _header_checksum(descriptor: bytes, magic: int) -> bytes:
    """Checksum of a frame's header, one byte. Before message format 1 Kafka hashed the magic too (KIP-57, trap 51)."""
    hashed = descriptor if magic else _MAGIC + descriptor
    return bytes(((_xxh32_short(hashed) >> 8) & 0xFF,))


def _xxh32_short(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes, as a header has."""
    prime1, prime2, prime3, prime4, prime5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    mask = 0xFFFFFFFF
    state = prime5 + len(data)
    words = len(data) & ~3
    for at in range(0, words, 4):
        state = (state + int.from_bytes(data[at : at + 4], "little") * prime3) & mask
        state = (state << 17 | state >> 15) * prime4 & mask
    for byte in data[words:]:
        state = (state + byte * prime5) & mask
        state = (state << 11 | state >> 21) * prime1 & mask
    state = (state ^ state >> 15) * prime2 & mask
    state = (state ^ state >> 13) * prime3 & mask
    return state ^ state >> 16


def _lz4() -> _Lz4Blocks:
    module = import_module("lz4.block")

    def compress_block(block: memoryview, level: int | None) -> Buffer:
        if level is None:
            return module.compress(block, store_size=False)  # type: ignore[no-any-return]
        return module.compress(block, store_size=False, mode="high_compression", compression=level)  # type: ignore[no-any-return]

    return _Lz4Blocks(
        compress_block,
        lambda block, most: module.decompress(block, uncompressed_size=most),
        lambda block, most, window: module.decompress(block, uncompressed_size=most, dict=window),
    )


def _cramjam() -> _Lz4Blocks:
    module = import_module("cramjam").lz4

    def compress_block(block: memoryview, level: int | None) -> Buffer:
        if level is None:
            return memoryview(module.compress_block(block, store_size=False))
        return memoryview(module.compress_block(block, store_size=False, mode="high_compression", compression=level))

    def decompress_block(block: memoryview, most: int) -> Buffer:
        # Without `output_len` cramjam takes a block's first four bytes for its size wherever they could be one.
        out = bytearray(most)
        return memoryview(out)[: module.decompress_block_into(block, out, output_len=most)]

    return _Lz4Blocks(compress_block, decompress_block, _pure().decompress_linked)


def _pyarrow() -> _Lz4Blocks:
    """Arrow's own frames link blocks; its raw codec does not, but can only read blocks whose size is known."""
    arrow = import_module("pyarrow")
    largest = bytes((_VERSION | _INDEPENDENT, 0x70))
    header = _MAGIC + largest + _header_checksum(largest, 2)

    def compress_block(block: memoryview, level: int | None) -> Buffer:
        return arrow.Codec("lz4_raw", compression_level=level).compress(block, asbytes=True)  # type: ignore[no-any-return]

    def decompress_block(block: memoryview, most: int) -> Buffer:
        frame = b"".join((header, len(block).to_bytes(4, "little"), block, bytes(4)))
        out = arrow.CompressedInputStream(arrow.BufferReader(frame), "lz4").read(most + 1)
        if len(out) > most:
            raise ValueError("more bytes come out of an LZ4 block than it may hold")
        return out  # type: ignore[no-any-return]

    return _Lz4Blocks(compress_block, decompress_block, _pure().decompress_linked)


def _pure() -> _Lz4Blocks:
    from kafkawire.protocol.codecs.lz4_pure import compress_block, decompress_block

    return _Lz4Blocks(
        lambda block, level: compress_block(bytes(block)),
        lambda block, most: decompress_block(bytes(block), most),
        lambda block, most, window: decompress_block(bytes(block), most, window),
    )


implementation: Accelerated[_Lz4Blocks] = Accelerated(
    "lz4", ("lz4", _lz4), ("cramjam", _cramjam), ("pyarrow", _pyarrow), ("pure Python", _pure)
)

"""Zstandard by the library that is installed; the frames are walked here, since no two libraries bound their output alike.

The walk (RFC 8878) finds where each frame ends, that it is whole, and the most that can come out of it, with or without a
content size in its header (trap 58: Java streams write none, and a payload may hold several frames).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.wire import Buffer

__all__ = ["compress", "decompress", "implementation"]

_MAGIC = 0xFD2FB528
_SKIPPABLE = 0x184D2A5
"""Magic number of a skippable frame without its lowest four bits."""
_LARGEST_BLOCK = 128 * 1024
_DEFAULT_LEVEL = 3
_RAW, _REPEATED, _COMPRESSED, _RESERVED = range(4)


class _Frames(NamedTuple):
    """A zstd implementation."""

    compress: Callable[[Buffer, int], bytes]
    decompress: Callable[[memoryview, int], Buffer]
    """Decompresses one whole frame to at most so many bytes."""


def compress(data: Buffer, level: int | None, magic: int) -> bytes:
    return implementation.get().compress(data, _DEFAULT_LEVEL if level is None else level)


def decompress(data: Buffer, limit: int, magic: int) -> bytes:
    frames = implementation.get()
    parts = []
    for frame, content_size, most in _walk(memoryview(data)):
        if content_size is not None and content_size > limit:
            raise ValueError(f"a zstd frame announces {content_size} bytes")
        part = frames.decompress(frame, min(most, limit))
        limit -= len(part)
        if limit < 0:
            raise ValueError("too many bytes come out")
        parts.append(part)
    return b"".join(parts)


def _walk(view: memoryview) -> Iterator[tuple[memoryview, int | None, int]]:
    """Each frame with its content size, if it has one, and the most that can come out of it."""
    at = 0
    while at < len(view):
        start = at
        magic = int.from_bytes(view[at : at + 4], "little")
        if magic >> 4 == _SKIPPABLE:
            at += 8 + int.from_bytes(view[at + 4 : at + 8], "little")
            continue
        if magic != _MAGIC:
            raise ValueError("not a zstd frame")
        flags = view[at + 4]
        content_size, at = _content_size(view, at + 5, flags)
        most, at = _walk_blocks(view, at)
        at += 4 if flags & 0x04 else 0  # a checksum
        if at > len(view):
            raise ValueError("the zstd frame is cut short")
        yield view[start:at], content_size, most if content_size is None else content_size


def _content_size(view: memoryview, at: int, flags: int) -> tuple[int | None, int]:
    """The content size, None if there is none, and where the blocks begin."""
    single_segment = flags & 0x20
    at += (0 if single_segment else 1) + (0, 1, 2, 4)[flags & 3]  # window size, dictionary id
    width = (1 if single_segment else 0, 2, 4, 8)[flags >> 6]
    size = int.from_bytes(view[at : at + width], "little") + (256 if width == 2 else 0)
    return size if width else None, at + width


def _walk_blocks(view: memoryview, at: int) -> tuple[int, int]:
    """The most that the blocks can hold, and where they end."""
    most = 0
    last = 0
    while not last:
        if at + 3 > len(view):
            raise ValueError("the zstd frame is cut short")
        header = int.from_bytes(view[at : at + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == _RESERVED:
            raise ValueError("a zstd block of an unknown kind")
        most += _LARGEST_BLOCK if kind == _COMPRESSED else size
        at += 3 + (1 if kind == _REPEATED else size)
    return most, at


def _standard_library() -> _Frames:
    """The implementation of Python 3.14 and later."""
    module = import_module("compression.zstd")

    def decompress_frame(frame: memoryview, most: int) -> Buffer:
        stream = module.ZstdDecompressor()
        out = stream.decompress(frame, most + 1)
        if not stream.eof:
            raise ValueError("more bytes come out of a zstd frame than it may hold")
        return out  # type: ignore[no-any-return]

    return _Frames(module.compress, decompress_frame)


def _zstandard() -> _Frames:
    module = import_module("zstandard")
    # 0 would mean: as much as the header announces.
    return _Frames(
        lambda data, level: module.ZstdCompressor(level=level).compress(data),
        lambda frame, most: module.ZstdDecompressor().decompress(frame, max_output_size=max(most, 1)),
    )


def _cramjam() -> _Frames:
    module = import_module("cramjam").zstd

    def decompress_frame(frame: memoryview, most: int) -> Buffer:
        out = bytearray(most)
        return memoryview(out)[: module.decompress_into(frame, out)]

    return _Frames(lambda data, level: bytes(module.compress(data, level)), decompress_frame)


def _pyarrow() -> _Frames:
    arrow = import_module("pyarrow")

    def decompress_frame(frame: memoryview, most: int) -> Buffer:
        return arrow.CompressedInputStream(arrow.BufferReader(frame), "zstd").read(most + 1)  # type: ignore[no-any-return]

    return _Frames(
        lambda data, level: arrow.Codec("zstd", compression_level=level).compress(data, asbytes=True), decompress_frame
    )


implementation: Accelerated[_Frames] = Accelerated(
    "zstd",
    ("compression.zstd", _standard_library),
    ("zstandard", _zstandard),
    ("cramjam", _cramjam),
    ("pyarrow", _pyarrow),
    advice="pip install zstandard (or cramjam, or pyarrow), or run Python 3.14 or later",
)

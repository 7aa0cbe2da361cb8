"""Gzip by zlib: the container of RFC 1952, not bare zlib streams."""

from __future__ import annotations

import zlib

from kafkawire.protocol.wire import Buffer

__all__ = ["compress", "decompress"]

_CONTAINER = 16 + zlib.MAX_WBITS


def compress(data: Buffer, level: int | None, magic: int) -> bytes:
    stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _CONTAINER)
    return stream.compress(data) + stream.flush()


def decompress(data: Buffer, limit: int, magic: int) -> bytes:
    """Decompress all members, as Java does, while one decompressobj stops after the first (trap 57)."""
    members = []
    while True:
        stream = zlib.decompressobj(_CONTAINER)
        member = stream.decompress(data, limit + 1)
        limit -= len(member)
        if limit < 0:
            raise ValueError("too many bytes come out")
        if not stream.eof:
            raise ValueError("the gzip stream is cut short")
        members.append(member)
        data = stream.unused_data
        if not data:
            return b"".join(members)

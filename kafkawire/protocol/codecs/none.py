"""No compression, with the functions of a codec."""

from __future__ import annotations

from kafkawire.protocol.wire import Buffer

__all__ = ["compress", "decompress"]


def compress(data: Buffer, level: int | None, magic: int) -> bytes:
    return bytes(data)


def decompress(data: Buffer, limit: int, magic: int) -> bytes:
    if len(data) > limit:
        raise ValueError("too many bytes")
    return bytes(data)

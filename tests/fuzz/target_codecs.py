"""The decompressors, pure and accelerated, side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.codecs import lz4, snappy, zstd
from kafkawire.protocol.compression import Codec, compress, decompress
from tests.fuzz.runner import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.protocol.accelerators import Accelerated

__all__ = ["TARGETS"]

LIMIT = 64 * 1024
"""Bytes that an input may unpack to."""

SAMPLES = (
    b"",
    b"x",
    b"abcabcabcabc" * 5,
    b"z" * 3000,
    bytes(range(256)) * 2,
    b"kafka wire batch record " * 40 + bytes(99),
    b"a\0\0Pbcdef",
)

CHOICES: Final[dict[Codec, Accelerated[Any]]] = {
    Codec.SNAPPY: snappy.implementation,
    Codec.LZ4: lz4.implementation,
    Codec.ZSTD: zstd.implementation,
}


def codec_seeds(codec: Codec) -> list[bytes]:
    """Each begins with the message format, which decides how LZ4 counts its header's checksum."""
    return [bytes([magic]) + compress(codec, sample, magic=magic) for sample in SAMPLES for magic in (0, 2)]


def check_codec(codec: Codec, data: bytes) -> bool:
    """Any bytes are unpacked to no more than the limit or are a CorruptRecordsError.

    All implementations that unpack them get the same, and a lower limit is kept. What comes out can be packed again and then
    needs no more room than it has bytes. Some refuse what others unpack: liblz4 may take a repeat from distance 0, which its
    own specification forbids.
    """
    magic, packed = data[0], data[1:]
    found = [unpacked for use in implementations(codec) if (unpacked := unpack(use, codec, packed, magic)) is not None]
    assert len(set(found)) <= 1
    for unpacked in found[:1]:
        again = compress(codec, unpacked, magic=magic)
        assert decompress(codec, memoryview(again), limit=len(unpacked), magic=magic) == unpacked
    return bool(found)


def unpack(use: Callable[[], None], codec: Codec, packed: bytes, magic: int) -> bytes | None:
    use()
    unpacked = unpack_within(LIMIT, codec, packed, magic)
    if unpacked is not None:
        assert len(unpacked) <= LIMIT
        assert unpack_within(len(unpacked), codec, packed, magic) in (unpacked, None)
        assert not unpacked or unpack_within(len(unpacked) - 1, codec, packed, magic) is None
    return unpacked


def unpack_within(limit: int, codec: Codec, packed: bytes, magic: int) -> bytes | None:
    try:
        return decompress(codec, packed, limit=limit, magic=magic)
    except CorruptRecordsError:
        return None


def implementations(codec: Codec) -> list[Callable[[], None]]:
    """Functions that select each implementation that can be imported here; the best comes last and stays."""
    if codec not in CHOICES:
        return [lambda: None]
    choice = CHOICES[codec]
    return [partial(use, choice, name) for name in reversed(choice.names) if can_load(choice, name)]


def use(choice: Accelerated[Any], name: str) -> None:
    """Select an implementation as hiding the better packages would, but quickly: it happens for every input."""
    choice._chosen = name, choice.load(name)  # noqa: SLF001


def can_load(choice: Accelerated[Any], name: str) -> bool:
    try:
        choice.load(name)
    except ImportError:
        return False
    return True


TARGETS = tuple(
    Target(codec.name.lower(), partial(codec_seeds, codec), partial(check_codec, codec), keep=1) for codec in Codec if codec
)

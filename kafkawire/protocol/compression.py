"""Kafka's compression codecs: the table of all of them, and one bounded call for each direction."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, Self

from kafkawire.errors import ConfigurationError, CorruptRecordsError, MissingDependencyError
from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.codecs import gzip, lz4, none, snappy, zstd
from kafkawire.protocol.wire import Buffer

__all__ = ["CODEC_NAMES", "Codec", "available", "check_available", "check_level", "codec_of", "compress", "decompress"]


class CodecFormat(NamedTuple):
    """One codec: its functions and limits."""

    compress: Callable[[Buffer, int | None, int], bytes]
    """Compresses data at a level, for a message format (its magic)."""
    decompress: Callable[[Buffer, int, int], bytes]
    """Decompresses data to at most so many bytes, for a message format (its magic)."""
    library: Accelerated[Any] | str
    """The implementations to choose from, or the name of the only one."""
    levels: tuple[int, int] | None = None
    """Lowest and highest level, Kafka's own; None for a codec without levels (trap 59)."""
    first_magic: int = 0
    """The first message format that may have the codec."""
    first_produce: int = 0
    """The first version of Produce that may carry the codec; brokers without that version do not know it."""
    release: str = ""
    """The release of Kafka that the codec came with."""


class Codec(IntEnum):
    """Compression codecs: a member's value is the number that stands in the attributes of a batch."""

    format: CodecFormat

    def __new__(cls, number: int, *row: CodecFormat) -> Self:
        """A member from its row in the table; a look-up by number, Codec(4), has none."""
        member = int.__new__(cls, number)
        member._value_ = number
        (member.format,) = row
        return member

    NONE = 0, CodecFormat(none.compress, none.decompress, "none needed")
    GZIP = 1, CodecFormat(gzip.compress, gzip.decompress, "zlib", levels=(-1, 9))
    SNAPPY = 2, CodecFormat(snappy.compress, snappy.decompress, snappy.implementation)
    LZ4 = 3, CodecFormat(lz4.compress, lz4.decompress, lz4.implementation, levels=(1, 17))
    ZSTD = (
        4,  # KIP-110; traps 50 and 58
        CodecFormat(
            zstd.compress,
            zstd.decompress,
            zstd.implementation,
            levels=(-131072, 22),
            first_magic=2,
            first_produce=7,
            release="2.1",
        ),
    )

    @classmethod
    def by_name(cls, name: str) -> Codec:
        """The codec of a name as in `compression_type`, "gzip" for one; ConfigurationError for a name that is none."""
        try:
            return cls[name.upper()]
        except KeyError:
            raise ConfigurationError(f"unknown compression type {name!r}: it is one of {', '.join(CODEC_NAMES)}") from None


CODEC_NAMES = tuple(codec.name.lower() for codec in Codec)
"""Names of all codecs, as in `compression_type`."""


def codec_of(attributes: int) -> Codec:
    """The codec in the lowest three bits of a batch's attributes; CorruptRecordsError for 5 to 7."""
    try:
        return Codec(attributes & 0x07)
    except ValueError:
        raise CorruptRecordsError(f"unknown compression codec {attributes & 0x07}") from None


def check_level(codec: Codec, level: int | None) -> None:
    """Raise ConfigurationError unless `codec` has that level. None is every codec's default."""
    if level is None:
        return
    if codec.format.levels is None:
        raise ConfigurationError(f"{codec.name.lower()} has no compression levels, {level} was given")
    lowest, highest = codec.format.levels
    if not lowest <= level <= highest or (codec is Codec.GZIP and level == 0):
        raise ConfigurationError(f"{codec.name.lower()} level {level} is not between {lowest} and {highest}")


def check_available(codec: Codec) -> None:
    """Raise MissingDependencyError, which says what to install, where no implementation of the codec can be imported."""
    if isinstance(codec.format.library, Accelerated):
        codec.format.library.get()


def compress(codec: Codec, data: Buffer, level: int | None = None, *, magic: int = 2) -> bytes:
    """`data` in the form that every Kafka client and broker reads. `magic` is the message format it goes into.

    Raises ConfigurationError for a level out of range and MissingDependencyError where no library knows the codec.
    """
    check_level(codec, level)
    return codec.format.compress(data, level, magic)


def decompress(codec: Codec, data: Buffer, *, limit: int, magic: int = 2) -> bytes:
    """The original of `data`, which must not exceed `limit` bytes; no much larger buffer is made while finding out.

    Raises CorruptRecordsError for bad data and for too much of it, MissingDependencyError where no library knows the codec.
    """
    if codec is not Codec.NONE and not len(data):
        raise CorruptRecordsError(f"an empty {codec.name.lower()} payload")
    try:
        return codec.format.decompress(data, limit, magic)
    except MissingDependencyError:
        raise
    except Exception as error:  # each library has errors of its own, some derived directly from Exception
        raise CorruptRecordsError(
            f"a {codec.name.lower()} payload of {len(data)} bytes is damaged or unpacks to more than {limit} bytes: {error}"
        ) from error


def available() -> dict[Codec, str | None]:
    """Each codec with the implementation in use, None where a package has to be installed first."""
    libraries = {codec: codec.format.library for codec in Codec}
    return {codec: library if isinstance(library, str) else library.name() for codec, library in libraries.items()}

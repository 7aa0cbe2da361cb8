"""Kafka's compression codecs, both directions: which there are, their levels, and one bounded call each way."""

from __future__ import annotations

from enum import IntEnum

from kafkawire.errors import ConfigurationError, CorruptRecordsError, MissingDependencyError
from kafkawire.protocol.codecs import gzip, lz4, snappy, zstd
from kafkawire.protocol.wire import Buffer

__all__ = ["Codec", "available", "check_available", "check_level", "codec_of", "compress", "decompress"]


class Codec(IntEnum):
    """The numbers that stand in the attributes of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def by_name(cls, name: str) -> Codec:
        """The codec called "none", "gzip", "snappy", "lz4" or "zstd"; ConfigurationError for any other name."""
        try:
            return cls[name.upper()]
        except KeyError:
            names = ", ".join(codec.name.lower() for codec in cls)
            raise ConfigurationError(f"unknown compression type {name!r}: it is one of {names}") from None


_LEVELS = {Codec.GZIP: (-1, 9), Codec.LZ4: (1, 17), Codec.ZSTD: (-131072, 22)}
"""Kafka's own ranges; the other codecs have no levels (trap 59)."""


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
    if codec not in _LEVELS:
        raise ConfigurationError(f"{codec.name.lower()} has no compression levels, {level} was given")
    lowest, highest = _LEVELS[codec]
    if not lowest <= level <= highest or (codec is Codec.GZIP and level == 0):
        raise ConfigurationError(f"{codec.name.lower()} level {level} is not between {lowest} and {highest}")


def check_available(codec: Codec) -> None:
    """Raise MissingDependencyError where no library knows the codec, which only Zstandard needs one for."""
    if codec is Codec.ZSTD:
        zstd.implementation.get()


def compress(codec: Codec, data: Buffer, level: int | None = None, *, magic: int = 2) -> bytes:
    """`data` in the form that every Kafka client and broker reads. `magic` is the message format it goes into.

    Raises ConfigurationError for a level out of range and MissingDependencyError where no library knows the codec.
    """
    check_level(codec, level)
    match codec:
        case Codec.GZIP:
            return gzip.compress(data, level)
        case Codec.SNAPPY:
            return snappy.compress(data, level)
        case Codec.LZ4:
            return lz4.compress(data, level, magic)
        case Codec.ZSTD:
            return zstd.compress(data, level)
    return bytes(data)


def decompress(codec: Codec, data: Buffer, *, limit: int, magic: int = 2) -> bytes:
    """The original of `data`, which must not exceed `limit` bytes; no much larger buffer is made while finding out.

    Raises CorruptRecordsError for bad data and for too much of it, MissingDependencyError where no library knows the codec.
    """
    if codec is not Codec.NONE and not len(data):
        raise CorruptRecordsError(f"an empty {codec.name.lower()} payload")
    try:
        return _decompress(codec, data, limit, magic)
    except MissingDependencyError:
        raise
    except Exception as error:  # each library has errors of its own, some derived from nothing better
        raise CorruptRecordsError(
            f"a {codec.name.lower()} payload of {len(data)} bytes is damaged or unpacks to more than {limit} bytes: {error}"
        ) from error


def _decompress(codec: Codec, data: Buffer, limit: int, magic: int) -> bytes:
    match codec:
        case Codec.GZIP:
            return gzip.decompress(data, limit)
        case Codec.SNAPPY:
            return snappy.decompress(data, limit)
        case Codec.LZ4:
            return lz4.decompress(data, limit, magic)
        case Codec.ZSTD:
            return zstd.decompress(data, limit)
    if len(data) > limit:
        raise ValueError("too many bytes")
    return bytes(data)


def available() -> dict[Codec, str | None]:
    """Each codec with the implementation in use, None where a package has to be installed first."""
    return {
        Codec.NONE: "none needed",
        Codec.GZIP: "zlib",
        Codec.SNAPPY: snappy.implementation.name(),
        Codec.LZ4: lz4.implementation.name(),
        Codec.ZSTD: zstd.implementation.name(),
    }

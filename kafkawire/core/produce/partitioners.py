"""Where a record goes that names no partition."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from kafkawire.errors import ConfigurationError
from kafkawire.protocol.murmur2 import murmur2

__all__ = ["KeyPartitioner", "Partitioner", "key_partitioner"]

KeyPartitioner = Callable[[bytes, int], int]
"""(key, number of partitions) -> partition."""
Partitioner = Callable[["bytes | None", int], int]
"""The same, asked for records without a key too."""


def by_murmur2(key: bytes, partitions: int) -> int:
    """As the Java client: over all partitions, whether they have a leader or not (traps 116, 118)."""
    return murmur2(key) % partitions


def by_crc32(key: bytes, partitions: int) -> int:
    """As librdkafka's 'consistent' (trap 117)."""
    return crc32(key) % partitions


_NAMED: dict[str, KeyPartitioner] = {"murmur2": by_murmur2, "consistent": by_crc32}


def key_partitioner(partitioner: str | Partitioner) -> KeyPartitioner | None:
    """The hash behind a name, None for a function of the user's own; raises ConfigurationError for an unknown name."""
    if not isinstance(partitioner, str):
        return None
    if partitioner not in _NAMED:
        raise ConfigurationError(f"partitioner: {partitioner!r} is not one of {', '.join(_NAMED)} and not a function")
    return _NAMED[partitioner]

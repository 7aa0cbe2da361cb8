"""Partitioners: the partition of a record that names none, computed from its key."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from kafkawire.errors import ConfigurationError
from kafkawire.protocol.murmur2 import murmur2

__all__ = ["KeyPartitioner", "Partitioner", "key_partitioner"]

KeyPartitioner = Callable[[bytes, int], int]
"""(key, number of partitions) -> partition, for records with a key."""
Partitioner = Callable[["bytes | None", int], int]
"""(key or None, number of partitions) -> partition, for records with and without a key."""


def by_murmur2(key: bytes, partitions: int) -> int:
    """Partition of a key as in the Java client: over all partitions, with and without a leader (traps 116, 118)."""
    return murmur2(key) % partitions


def by_crc32(key: bytes, partitions: int) -> int:
    """Partition of a key as with librdkafka's 'consistent' (trap 117)."""
    return crc32(key) % partitions


_NAMED: dict[str, KeyPartitioner] = {"murmur2": by_murmur2, "consistent": by_crc32}


def key_partitioner(partitioner: str | Partitioner) -> KeyPartitioner | None:
    """Return the partitioner of a name, None for a function; raises ConfigurationError for an unknown name."""
    if not isinstance(partitioner, str):
        return None
    if partitioner not in _NAMED:
        raise ConfigurationError(f"partitioner: {partitioner!r} is not one of {', '.join(_NAMED)} and not a function")
    return _NAMED[partitioner]

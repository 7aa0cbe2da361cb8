"""Layout of record batches and messages, shared by readers and writers."""

from __future__ import annotations

from struct import Struct
from typing import Final

__all__ = [
    "BATCH_HEADER",
    "BATCH_OVERHEAD",
    "CONTROL",
    "CRC_AT",
    "CRC_FROM",
    "DELETE_HORIZON",
    "LEGACY_CRC_AT",
    "LEGACY_CRC_FROM",
    "LEGACY_HEADER",
    "LEGACY_KEY_AT",
    "LENGTH_END",
    "LOG_APPEND_TIME",
    "SHORTEST_MESSAGE",
    "SHORTEST_RECORD",
    "TRANSACTIONAL",
    "UINT32",
    "UP_TO_MAGIC",
]

UP_TO_MAGIC: Final = Struct(">qiib")
"""Offset, length, (leader epoch, or the checksum before format 2), magic: alike in all formats (trap 44)."""
LENGTH_END: Final = 12
"""End of the length field; the length counts the bytes from here on."""

BATCH_HEADER: Final = Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, base timestamp, largest timestamp,
producer id, producer epoch, base sequence, count."""
BATCH_OVERHEAD: Final = BATCH_HEADER.size
"""Bytes of a batch before its records."""
CRC_AT: Final = 17
CRC_FROM: Final = 21
"""Start of the bytes under the checksum; a broker may change those before it without a new one (trap 25)."""
SHORTEST_RECORD: Final = 7
"""Bytes of the shortest record: length, attributes, two deltas, three counts, a byte each."""

LEGACY_HEADER: Final = Struct(">qiIbb")
"""Header of a message of format 0 or 1: offset, size, checksum, magic, attributes; format 1 goes on with an int64 timestamp."""
LEGACY_CRC_AT: Final = 12
LEGACY_CRC_FROM: Final = 16
LEGACY_KEY_AT: Final = {0: LEGACY_HEADER.size, 1: LEGACY_HEADER.size + 8}
"""Format -> index of the key's length in a message."""
SHORTEST_MESSAGE: Final = {0: LEGACY_KEY_AT[0] + 8, 1: LEGACY_KEY_AT[1] + 8}
"""Format -> bytes of a message with neither key nor value."""

UINT32: Final = Struct(">I")

LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
"""Bits of the attributes; the lowest three are the codec, and higher bits are ignored (trap 36)."""

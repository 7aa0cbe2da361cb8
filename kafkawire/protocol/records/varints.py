"""Zigzag varints of record batches v2: signed numbers in 1 to 5 bytes (int32) or 1 to 10 (int64)."""

from __future__ import annotations

from typing import Final

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.wire import Buffer

__all__ = ["HIGH_BITS", "INT32_BYTES", "INT64_BYTES", "LOW_BITS", "VARINTS", "ZIGZAG", "read_varint"]

INT32_BYTES: Final = 5
INT64_BYTES: Final = 10
"""Bytes of the longest forms."""
ZIGZAG: Final = [(byte >> 1) ^ -(byte & 1) if byte < 0x80 else None for byte in range(0x100)]
"""Byte -> the number, if it is the only byte of a varint; None for the first of several bytes."""
LOW_BITS: Final = [(byte & 0x7F) >> 1 if byte >= 0x80 and not byte & 1 else None for byte in range(0x100)]
"""First byte of several -> its part of the number, if that is not negative."""
HIGH_BITS: Final = [byte << 6 if byte < 0x80 else None for byte in range(0x100)]
"""Second byte -> its part of the number, if it is the last byte."""


class _Varints(dict[int, bytes]):
    """Number -> its encoding, filled as numbers are used, so that encoding is one look-up."""

    most: Final = 1 << 17
    """Most numbers kept: every length and offset delta of usual batches, in at most about 15 MB."""

    def __missing__(self, number: int) -> bytes:
        encoded = _encode(number)
        if len(self) < self.most:
            self[number] = encoded
        return encoded


def _encode(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


VARINTS: Final = _Varints()


def read_varint(data: Buffer, at: int, most: int = INT32_BYTES) -> tuple[int, int]:
    """The number at `at`, in at most `most` bytes, and where it ends. IndexError past the end of the data."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    high = data[at + 1]
    if high < 0x80:
        raw = byte & 0x7F | high << 7
        return (raw >> 1) ^ -(raw & 1), at + 2
    raw = 0
    for shift in range(0, 7 * most, 7):
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFFFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), at
    raise CorruptRecordsError(f"a varint of more than {most} bytes")

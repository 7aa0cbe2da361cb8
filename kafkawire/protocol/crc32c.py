"""CRC32C (Castagnoli), the checksum of record batches: by the crc32c package, else by the standard library alone.

The pure way for long inputs turns the byte-at-a-time table method sideways. The data is cut into streams of 64 bytes, and
the checksums of all streams advance together, one byte of each per step. Byte k of all N checksums is kept as one "plane" of
N bytes, so that a step is a handful of C calls on whole planes: a strided slice fetches one byte of every stream,
bytes.translate looks all of them up in a table, and integers of N bytes XOR them. At the end neighbours are folded in pairs:
the checksum of A + B is the checksum of A, advanced over len(B) zero bytes, XOR that of B. Advancing is linear over GF(2),
so it is table look-ups on planes again. Measured: 80 MB/s at 16 kB and 140 at 1 MB, where a plain loop does 11.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from kafkawire.protocol.accelerators import Accelerated
from kafkawire.protocol.wire import Buffer

__all__ = ["crc32c", "crc32c_bytewise", "crc32c_planes"]

_POLYNOMIAL = 0x82F63B78
_ONES = 0xFFFFFFFF
_STREAM = 64
"""Bytes in a stream."""
_PIECE = 1 << 20
"""Bytes handled at once, so that the planes stay in the processor's cache."""
_WORTH_PLANES = 1024
"""Below this many bytes the plain loop is faster."""

_Checksum = Callable[[Buffer, int], int]


def crc32c(data: Buffer, value: int = 0) -> int:
    """The CRC32C of `data`, or of what `value` is the checksum of followed by `data`."""
    return _implementation.get()(data, value)


@cache
def _table() -> list[int]:
    """What one byte does to an empty checksum."""
    table = []
    for byte in range(256):
        state = byte
        for _ in range(8):
            state = (state >> 1) ^ (_POLYNOMIAL if state & 1 else 0)
        table.append(state)
    return table


@cache
def _byte_tables() -> list[bytes]:
    """The table, cut into one table for each byte of the entries."""
    return [bytes(entry >> shift & 0xFF for entry in _table()) for shift in (0, 8, 16, 24)]


def crc32c_bytewise(data: Buffer, value: int = 0) -> int:
    """The table method, one byte at a time."""
    table = _table()
    state = value ^ _ONES
    for byte in memoryview(data).cast("B"):
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ _ONES


def crc32c_planes(data: Buffer, value: int = 0) -> int:
    """The same for at least four bytes, many streams at a time."""
    view = memoryview(data).cast("B")
    state = value ^ _ONES
    for start in range(0, len(view), _PIECE):
        piece = view[start : start + _PIECE]
        state = _piece(piece, state) if len(piece) >= 4 else crc32c_bytewise(piece, state ^ _ONES) ^ _ONES
    return state ^ _ONES


def _piece(piece: memoryview, state: int) -> int:
    # A start state is the same as XORing it into the first four bytes; leading zeros leave an empty checksum empty.
    first = (int.from_bytes(piece[:4], "little") ^ state).to_bytes(4, "little")
    streams = b"".join((bytes(-len(piece) % _STREAM), first, piece[4:]))
    return _fold(_advance_streams(streams, len(streams) // _STREAM))


def _advance_streams(streams: bytes, count: int) -> list[bytes]:
    """The four planes of the checksums of all streams."""
    from_bytes = int.from_bytes
    table0, table1, table2, table3 = _byte_tables()
    plane0 = plane1 = plane2 = plane3 = 0
    for step in range(_STREAM):
        index = (plane0 ^ from_bytes(streams[step::_STREAM], "little")).to_bytes(count, "little")
        plane0 = plane1 ^ from_bytes(index.translate(table0), "little")
        plane1 = plane2 ^ from_bytes(index.translate(table1), "little")
        plane2 = plane3 ^ from_bytes(index.translate(table2), "little")
        plane3 = from_bytes(index.translate(table3), "little")
    return [plane.to_bytes(count, "little") for plane in (plane0, plane1, plane2, plane3)]


def _fold(planes: list[bytes]) -> int:
    """The one checksum of streams that follow each other."""
    level = 0
    while (count := len(planes[0])) > 1:
        if count % 2:
            planes = [b"\0" + plane for plane in planes]
            count += 1
        planes = [
            _xor([plane[1::2], *(left[0::2].translate(table) for left, table in zip(planes, tables, strict=True))], count // 2)
            for plane, tables in zip(planes, _advance_tables(level), strict=True)
        ]
        level += 1
    return int.from_bytes(b"".join(planes), "little")


def _xor(planes: list[bytes], size: int) -> bytes:
    result = 0
    for plane in planes:
        result ^= int.from_bytes(plane, "little")
    return result.to_bytes(size, "little")


@cache
def _advanced_bits(level: int) -> list[int]:
    """What a checksum of each single bit becomes after 64 * 2 ** level zero bytes."""
    if level:
        half = _advanced_bits(level - 1)
        return [_combine(half, _combine(half, 1 << bit)) for bit in range(32)]
    table = _table()
    states = [1 << bit for bit in range(32)]
    for _ in range(_STREAM):
        states = [table[state & 0xFF] ^ (state >> 8) for state in states]
    return states


def _combine(images: list[int], state: int) -> int:
    """The image of a state, from the images of its bits."""
    result = 0
    for image in images:
        if state & 1:
            result ^= image
        state >>= 1
    return result


@cache
def _advance_tables(level: int) -> list[list[bytes]]:
    """For each result plane, the tables that take each plane of a checksum to it over 64 * 2 ** level zero bytes."""
    bits = _advanced_bits(level)
    images = []
    for plane in range(4):
        image = [0] * 256
        for byte in range(1, 256):
            low = byte & -byte
            image[byte] = image[byte ^ low] ^ bits[8 * plane + low.bit_length() - 1]
        images.append(image)
    return [[bytes(entry >> shift & 0xFF for entry in image) for image in images] for shift in (0, 8, 16, 24)]


def _crc32c_package() -> _Checksum:
    checksum: _Checksum = import_module("crc32c").crc32c
    return checksum


def _standard_library() -> _Checksum:
    return lambda data, value: (crc32c_planes if len(data) >= _WORTH_PLANES else crc32c_bytewise)(data, value)


_implementation: Accelerated[_Checksum] = Accelerated(
    "crc32c", ("crc32c", _crc32c_package), ("standard library", _standard_library)
)

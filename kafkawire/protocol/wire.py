"""Kafka's primitive types as annotations, and the helpers that compiled codecs call off the fast path."""

from __future__ import annotations

from struct import Struct as Packer
from struct import calcsize
from typing import Annotated, Any, Final

from kafkawire.errors import DecodeError

__all__ = [
    "ZERO_UUID",
    "Bool",
    "Buffer",
    "Bytes",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Records",
    "String",
    "UInt16",
    "Uuid",
    "Wire",
]

Buffer = bytes | bytearray | memoryview

ZERO_UUID: Final = bytes(16)
"""The UUID that Kafka sends where there is no id."""


class Wire:
    """The wire type of an annotation: a `struct` code for fixed-width types, none for those with a length before them."""

    __slots__ = ("code", "default", "length_code", "name", "size")

    def __init__(self, name: str, default: Any, *, code: str = "", length_code: str = "") -> None:
        self.name = name
        self.default = default
        self.code = code
        """The `struct` format of a fixed-width type, else ""."""
        self.length_code = length_code
        """The `struct` format of the length in versions before the flexible ones, "" for a fixed-width type."""
        self.size = calcsize(">" + (code or length_code))
        """Bytes of a fixed-width value, or of the length."""

    def __repr__(self) -> str:
        return f"Wire({self.name})"


UUID: Final = Wire("uuid", ZERO_UUID, code="16s")
STRING: Final = Wire("string", "", length_code="h")
BYTES: Final = Wire("bytes", b"", length_code="i")
RECORDS: Final = Wire("records", None, length_code="i")

Bool = Annotated[bool, Wire("bool", False, code="?")]
Int8 = Annotated[int, Wire("int8", 0, code="b")]
Int16 = Annotated[int, Wire("int16", 0, code="h")]
Int32 = Annotated[int, Wire("int32", 0, code="i")]
Int64 = Annotated[int, Wire("int64", 0, code="q")]
UInt16 = Annotated[int, Wire("uint16", 0, code="H")]
Float64 = Annotated[float, Wire("float64", 0.0, code="d")]
Uuid = Annotated[bytes, UUID]
"""A UUID as its 16 raw bytes: a topic id is only ever compared and looked up."""
String = Annotated[str, STRING]
Bytes = Annotated[bytes, BYTES]
Records = Annotated[Buffer, RECORDS]
"""Record batches, encoded. Decoded to a memoryview of the data given, without a copy."""

MAX_STRING: Final = 0x7FFF
"""Most bytes of a string in UTF-8. Versions with compact strings keep the limit of the int16 they replaced (trap 21)."""

BIG_RECORDS: Final = 16 * 1024
"""Bytes from which on records leave `encode_parts` as a part of their own: copying fewer is cheaper than one more part."""

SMALL_ARRAY: Final = 64
"""Arrays of fixed-width elements up to this length keep their packer; the length of others is not worth remembering."""


class Malformed(ValueError):
    """Raised inside compiled decoders; leaves them as a DecodeError with the message, its version and the byte."""


def encode_varint(value: int) -> bytes:
    """Encode an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: Buffer, pos: int) -> tuple[int, int]:
    """An unsigned 32-bit varint at `pos`, and the position after it. Non-canonical forms are accepted, as Java does."""
    value = data[pos]
    if value < 0x80:
        return value, pos + 1
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                raise Malformed(f"varint {value:#x} has more than 32 bits")
            return value, pos + 1
    raise Malformed("varint of more than 5 bytes")


def string_length(size: int) -> bytes:
    """The varint before a compact string of `size - 1` bytes."""
    if size > MAX_STRING + 1:
        raise ValueError("string too long")
    return encode_varint(size)


def tag_count(data: Buffer, pos: int) -> tuple[int, int]:
    """The number of tagged fields at `pos`, and the position after it."""
    count, pos = decode_varint(data, pos)
    if count * 2 > len(data) - pos:
        raise length_fault("the tag section", count, len(data) - pos)
    return count, pos


def next_tag(data: Buffer, pos: int, last: int) -> tuple[int, int, int]:
    """The tag at `pos`, and where its value ends and begins. Tags ascend (trap 18)."""
    tag, pos = decode_varint(data, pos)
    size, pos = decode_varint(data, pos)
    if tag <= last:
        raise Malformed(f"tag {tag} comes after {last}")
    if size > len(data) - pos:
        raise length_fault(f"tag {tag}", size, len(data) - pos)
    return tag, pos + size, pos


def unknown_tags(data: Buffer, pos: int) -> tuple[dict[int, bytes] | None, int]:
    """A tag section none of whose fields is known (None if it is empty), and the position after it."""
    found: dict[int, bytes] = {}
    tag = -1
    count, pos = tag_count(data, pos)
    for _ in range(count):
        tag, end, pos = next_tag(data, pos, tag)
        found[tag] = bytes(data[pos:end])
        pos = end
    return found or None, pos


def length_fault(what: str, count: int, left: int) -> Malformed:
    """The reason why a length or count cannot be right."""
    if count == -1:
        return Malformed(f"{what} is null, which this version does not allow")
    if count < 0:
        return Malformed(f"{what} has the length {count}")
    return Malformed(f"{what} has the length {count}, more than the {left} bytes left can hold")


def decode_error(api: str, version: int, pos: int, fault: Exception) -> DecodeError:
    """The public error for the exception that stopped a compiled decoder at `pos`."""
    if isinstance(fault, Malformed):
        reason = str(fault)
    elif isinstance(fault, UnicodeDecodeError):
        reason = "a string is not UTF-8"
    else:
        reason = "it ends in the middle of a field"
    return DecodeError(reason, api=api, version=version, offset=pos)


def flat(value: Buffer) -> Buffer:
    """Bytes, a bytearray or a memoryview, such that its `len` is its number of bytes."""
    if type(value) is memoryview:
        return value if value.nbytes == len(value) else value.cast("B")
    if isinstance(value, (bytes, bytearray)):
        return value
    raise TypeError("not bytes")


def uuid16(value: bytes) -> bytes:
    """The 16 bytes of a UUID; raises for any other length, which `struct` would pad or cut."""
    if len(value) != 16:
        raise ValueError("a UUID is 16 bytes")
    return value


def cut(parts: list[Buffer], mark: int, records: Buffer) -> int:
    """Join the small parts since `mark` and add `records` as a part of its own; the new mark."""
    parts[mark:] = (b"".join(parts[mark:]), records)
    return mark + 2


def tag_section(known: dict[int, bytes], unknown: dict[int, bytes] | None, declared: tuple[int, ...]) -> bytes:
    """Tagged fields in ascending order behind their number (trap 18). `declared` tags cannot be among the unknown."""
    tags = {**known, **(unknown or {})}
    for tag in unknown or ():
        if tag in declared:
            raise ValueError(f"tag {tag} in unknown_tags is a field of the message")
    out = [encode_varint(len(tags))]
    for tag in sorted(tags):
        out += encode_varint(tag), encode_varint(len(tags[tag])), tags[tag]
    return b"".join(out)


class PackTable(dict[int, Any]):
    """Array length -> compiled `pack` or `unpack_from` for so many elements and the fixed fields behind them."""

    __slots__ = ("element", "method", "rest")

    def __init__(self, element: str, rest: str, method: str) -> None:
        self.element = element
        self.rest = rest
        self.method = method

    def __missing__(self, count: int) -> Any:
        elements = f"{count}{self.element}" if len(self.element) == 1 else self.element * count
        found = getattr(Packer(f">{elements}{self.rest}"), self.method)
        if count <= SMALL_ARRAY:
            self[count] = found
        return found

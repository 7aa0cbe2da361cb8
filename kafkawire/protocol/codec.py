"""Messages to bytes and back: the compiled codecs with their checks, and errors that name the value that does not fit."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.errors import DecodeError, EncodeError
from kafkawire.protocol import codegen
from kafkawire.protocol.wire import BYTES, MAX_STRING, RECORDS, STRING, UUID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Field, Message, Struct
    from kafkawire.protocol.wire import Buffer, Wire

__all__ = ["decode", "encode", "encode_parts"]

M = TypeVar("M", bound="Message")


def encode(message: Message, version: int) -> bytes:
    """The body of a message in one version.

    Raises EncodeError for a value that the version cannot carry, UnsupportedVersionError for a version that is not declared.
    """
    return b"".join(encode_parts(message, version))


def encode_parts(message: Message, version: int) -> list[Buffer]:
    """The body of a message in parts: large records fields stand uncopied between other bytes. Raises as `encode`."""
    cls = type(message)
    compiled = codegen.encoder(cls, version)
    try:
        return compiled(message)
    except (struct.error, AttributeError, TypeError, ValueError, OverflowError) as fault:
        raise EncodeError(f"{cls.__name__} v{version}: {_find_fault(message, version) or fault}") from fault


def decode(cls: type[M], version: int, data: Buffer, offset: int = 0) -> M:
    """The message whose body is all of `data` from `offset`.

    Records fields are memoryviews of `data`; everything else is copied. Raises DecodeError with API, version and byte, also for
    bytes left over (trap 24).
    """
    message, end = codegen.decoder(cls, version)(data, offset)
    if end != len(data):
        raise DecodeError(f"{len(data) - end} bytes are left over", api=cls.__name__, version=version, offset=end)
    found: M = message
    return found


def _find_fault(message: Message, version: int) -> str | None:
    """The first field that does not encode: found by a slow walk, once the fast way has failed."""
    flexible = type(message).flexible
    return next(_faults(message, version, "", flexible is not None and version >= flexible), None)


def _faults(group: Struct, version: int, path: str, flexible: bool) -> Iterator[str]:
    if group.unknown_tags and not flexible:
        yield f"{path}unknown_tags is set, but this version has no tagged fields"
    for f in type(group).fields:
        value = getattr(group, f.name)
        where = path + f.name
        if version not in f.versions:
            if not f.ignorable and not f.is_default(value):
                yield f"{where} is {f.shown(value)}, but only versions {f.versions} have this field"
        elif value is None:
            if version not in f.nullable and not f.optional_tag:
                yield f"{where} is None, which " + (f"only versions {f.nullable} allow" if f.nullable else "no version allows")
        elif f.array:
            if not isinstance(value, (list, tuple)):
                yield f"{where} is {f.shown(value)}, not a list"
                continue
            for i, element in enumerate(value):
                yield from _value_faults(f, element, version, f"{where}[{i}]", flexible)
        else:
            yield from _value_faults(f, value, version, where, flexible)


def _value_faults(field: Field, value: Any, version: int, where: str, flexible: bool) -> Iterator[str]:
    if isinstance(field.element, type):
        if isinstance(value, field.element):
            yield from _faults(value, version, where + ".", flexible)
        else:
            yield f"{where} is {field.shown(value)}, not a {field.element.__qualname__}"
    elif not _fits(field.element, value):
        yield f"{where} is {field.shown(value)}, which is not a valid {field.element.name}"


def _fits(kind: Wire, value: Any) -> bool:
    if kind is STRING:
        return isinstance(value, str) and len(value.encode(errors="replace")) <= MAX_STRING and _is_utf8(value)
    if kind in (BYTES, RECORDS):
        return isinstance(value, (bytes, bytearray, memoryview))
    try:
        struct.pack(">" + kind.code, value)
        return kind is not UUID or len(value) == kind.size
    except (struct.error, TypeError, OverflowError):
        return False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

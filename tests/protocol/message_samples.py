"""One message of every class and version with nothing left at its default: what damage is done to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.protocol import wire

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Field, Message, Struct
    from kafkawire.protocol.wire import Wire

__all__ = ["full_message", "is_flexible"]


def is_flexible(cls: type[Message], version: int) -> bool:
    """True if the version has compact lengths and tagged fields."""
    return cls.flexible is not None and version >= cls.flexible


def full_message(cls: type[Message], version: int) -> Any:
    """A message with a value in every field, two elements in its arrays, one in arrays inside them, and an unknown tag."""
    return _struct(cls, version, flexible=is_flexible(cls, version), count=2)


def _struct(cls: type[Struct], version: int, *, flexible: bool, count: int = 1) -> Any:
    values = {f.name: _value(f, version, flexible, count) for f in cls.fields if version in f.versions}
    return cls(**values, **({"unknown_tags": {500: b"?"}} if flexible else {}))


def _value(field: Field, version: int, flexible: bool, count: int) -> Any:
    if isinstance(field.element, type):
        one = _struct(field.element, version, flexible=flexible)
    else:
        one = _primitive(field.element)
    return [one] * count if field.array else one


def _primitive(kind: Wire) -> Any:
    if kind is wire.STRING:
        return "é"
    if kind in (wire.BYTES, wire.RECORDS):
        return b"\xfe\xff"
    if kind is wire.UUID:
        return bytes(range(16))
    return kind.code != "?" and 7

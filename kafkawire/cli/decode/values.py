"""Messages and bytes as JSON values for people: bytes as text where they are text, bytes fields decoded, secrets hidden."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kafkawire import protocol
from kafkawire.errors import DecodeError
from kafkawire.protocol.wire import BYTES, RECORDS, Buffer

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Field, Message, Struct

__all__ = ["Line", "readable", "text"]

Line = dict[str, Any]
"""One line of output; "error" is the reason why a part of it could not be read."""

GROUP_DATA: Final = {
    "metadata": "ConsumerProtocolSubscription",
    "member_metadata": "ConsumerProtocolSubscription",
    "subscription": "ConsumerProtocolSubscription",
    "assignment": "ConsumerProtocolAssignment",
    "member_assignment": "ConsumerProtocolAssignment",
}
"""Bytes fields of any message in which consumers keep group data. Connect keeps its own data there, which stays bytes."""


def text(data: Buffer | None) -> str | dict[str, str] | None:
    """Bytes that are UTF-8 without control characters as a string, others as {"base64": ...}."""
    if data is None:
        return None
    try:
        found = str(data, "utf-8")
    except UnicodeDecodeError:
        found = "\0"
    if all(c.isprintable() or c in "\t\n\r" for c in found):
        return found
    return {"base64": b64encode(data).decode()}


def readable(message: Message, version: int, show_records: Callable[[Buffer], Any] | None = None) -> dict[str, Any]:
    """The fields of a version as `protocol.to_dict` gives them, but for secrets, consumers' group data, and records."""
    found = protocol.to_dict(message, secrets=False)
    _refine(message, version, found, show_records)
    return found


def _refine(struct: Struct, version: int, found: dict[str, Any], show_records: Callable[[Buffer], Any] | None) -> None:
    for field in type(struct).fields:
        name, value = field.json_name, getattr(struct, field.name)
        if version not in field.versions:
            del found[name]
        elif value is None:
            continue
        elif isinstance(field.element, type):
            pairs = zip(value, found[name], strict=True) if field.array else [(value, found[name])]
            for part, plain in pairs:
                _refine(part, version, plain, show_records)
        elif field.element is RECORDS and show_records:
            found[name] = show_records(value)
        elif field.element is BYTES and value and not field.secret:
            found[name] = _group_data(field, value) or found[name]


def _group_data(field: Field, value: bytes) -> dict[str, Any] | None:
    if field.name not in GROUP_DATA:
        return None
    cls = protocol.data(GROUP_DATA[field.name])
    try:
        version, message = protocol.decode_versioned(cls, value, newer=True)
    except DecodeError:
        return None
    return {"version": version} | readable(message, min(version, cls.versions.max))

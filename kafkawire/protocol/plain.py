"""Messages as plain JSON values under Kafka's own camelCase names, for tools, logs and tests."""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.errors import EncodeError
from kafkawire.protocol.schema import HIDDEN
from kafkawire.protocol.wire import BYTES, RECORDS, UUID, uuid16

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkawire.protocol.schema import Field, Struct

__all__ = ["from_dict", "to_dict"]

S = TypeVar("S", bound="Struct")

UNKNOWN = "_unknownTaggedFields"


def to_dict(message: Struct, *, secrets: bool = True) -> dict[str, Any]:
    """Every field of a message: bytes and records as base64, ids as Kafka prints them (base64url, no padding).

    With `secrets` False there is *** in the place of passwords, tokens and values of configurations: for logs.
    """

    def plain(field: Field, value: Any) -> Any:
        if isinstance(field.element, type):
            return to_dict(value, secrets=secrets)
        return HIDDEN if field.secret and not secrets else _to_plain(field, value)

    found = {f.json_name: _each(f, getattr(message, f.name), plain) for f in type(message).fields}
    if message.unknown_tags:
        found[UNKNOWN] = {str(tag): b64encode(data).decode() for tag, data in message.unknown_tags.items()}
    return found


def from_dict(cls: type[S], values: Mapping[str, Any]) -> S:
    """The message with these values, the reverse of `to_dict`; fields that are left out have their defaults.

    Raises EncodeError for a name that is no field of the message or a value of the wrong form.
    """
    fields = {f.json_name: f for f in cls.fields}
    message = cls()
    for name, value in values.items():
        try:
            if name == UNKNOWN:
                message.unknown_tags = {int(tag): b64decode(text, validate=True) for tag, text in value.items()}
            else:
                setattr(message, fields[name].name, _each(fields[name], value, _from_plain))
        except KeyError:
            raise EncodeError(f"{cls.__qualname__} has no field {name!r}; it has {', '.join(fields)}") from None
        except (TypeError, ValueError, AttributeError) as fault:
            if isinstance(fault, EncodeError):
                raise
            shown = fields[name].shown(value) if name in fields else repr(value)
            raise EncodeError(f"{cls.__qualname__}.{name}: {shown} has the wrong form ({fault})") from fault
    return message


def _each(field: Field, value: Any, convert: Callable[[Field, Any], Any]) -> Any:
    if value is None:
        return None
    return [convert(field, element) for element in value] if field.array else convert(field, value)


def _to_plain(field: Field, value: Any) -> Any:
    if field.element is UUID:
        return urlsafe_b64encode(value).decode().rstrip("=")
    if field.element in (BYTES, RECORDS):
        return b64encode(value).decode()
    return value


def _from_plain(field: Field, value: Any) -> Any:
    if isinstance(field.element, type):
        return from_dict(field.element, value)
    if field.element is UUID:
        return uuid16(b64decode(value + "==", altchars=b"-_", validate=True))
    if field.element in (BYTES, RECORDS):
        return b64decode(value, validate=True)
    return value

"""Values from JSON and query strings, checked against the types that they should have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from kafkawire.errors import ErrorCode

__all__ = ["as_type", "get"]

_REQUIRED: Any = object()
_FORMS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", list: "a list", dict: "an object"}


def as_type(name: str, value: Any, wanted: Any) -> Any:
    """The value, which has to be of a type: one of JSON's, a Literal, or ErrorCode by its name. Raises ValueError."""
    if wanted is ErrorCode:
        if isinstance(value, str) and value in ErrorCode.__members__:
            return ErrorCode[value]
        raise ValueError(f"{name!r} is {value!r}; it has to be the name of one of Kafka's errors")
    if get_origin(wanted) is Literal:
        fits, form = value in get_args(wanted), " or ".join(map(repr, get_args(wanted)))
    else:
        types = (int, float) if wanted is float else (wanted,)
        fits = isinstance(value, types) and (wanted is bool or not isinstance(value, bool))
        form = _FORMS[wanted]
    if not fits:
        raise ValueError(f"{name!r} is {value!r}; it has to be {form}")
    return value


def get(values: Mapping[str, Any], name: str, wanted: Any, default: Any = _REQUIRED) -> Any:
    """A value by its name; `default`, if there is one, where it is missing or null. Raises ValueError."""
    value = values.get(name)
    if value is None and default is not _REQUIRED:
        return default
    if name not in values:
        raise ValueError(f"{name!r} is missing")
    return as_type(name, value, wanted)

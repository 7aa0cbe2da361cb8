"""Values from JSON and query strings, checked against the types that they should have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from kafkawire.errors import ErrorCode
from mockbroker.arguments import misfit, shown

__all__ = ["as_type", "get", "parse"]

_REQUIRED: Any = object()


def parse(text: str) -> Any:
    """The values of a JSON text. Raises ValueError for what is none, or what nobody can use.

    That is NaN and Infinity, which only Python writes, text that is no Unicode (lone surrogates), and lists in lists in lists.
    """
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise ValueError(f"it has half a character, \\u{ord(error.object[error.start]):04x}, which is no text") from None
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def as_type(name: str, value: Any, wanted: Any) -> Any:
    """The value, which has to be of a type: one of JSON's, a Literal, or ErrorCode by its name. Raises ValueError."""
    if wanted is ErrorCode:
        if isinstance(value, str) and value in ErrorCode.__members__:
            return ErrorCode[value]
        raise ValueError(f"{name!r} is {shown(value)}; it has to be the name of one of Kafka's errors")
    form = misfit(value, wanted)
    if form is not None:
        raise ValueError(f"{name!r} is {shown(value)}; it has to be {form}")
    return value


def get(values: Mapping[str, Any], name: str, wanted: Any, default: Any = _REQUIRED) -> Any:
    """A value by its name; `default`, if there is one, where it is missing or null. Raises ValueError."""
    value = values.get(name)
    if value is None and default is not _REQUIRED:
        return default
    if name not in values:
        raise ValueError(f"{name!r} is missing")
    return as_type(name, value, wanted)

"""Values of JSON texts and query strings: parsing, and checks against the types that they should have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from kafkawire.errors import ErrorCode
from mockbroker.arguments import mismatch_of, short_repr

__all__ = ["checked_field", "checked_value", "parse_json"]

_REQUIRED: Any = object()


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises ValueError for anything else, and for JSON that not every reader takes: NaN and Infinity, lone surrogates, and lists
    nested too deeply.
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


def checked_value(name: str, value: Any, wanted: Any) -> Any:
    """Return a value if it has the wanted type: one of JSON's, a Literal, or ErrorCode, which is given by name.

    Raises ValueError for another type. The range of a number is not checked.
    """
    if wanted is ErrorCode:
        if isinstance(value, str) and value in ErrorCode.__members__:
            return ErrorCode[value]
        raise ValueError(f"{name!r} is {short_repr(value)}; it has to be the name of one of Kafka's errors")
    expected = mismatch_of(value, wanted)
    if expected is not None:
        raise ValueError(f"{name!r} is {short_repr(value)}; it has to be {expected}")
    return value


def checked_field(values: Mapping[str, Any], name: str, wanted: Any, default: Any = _REQUIRED) -> Any:
    """Return a field of a JSON object if it has the wanted type; the default, if there is one, for a missing field or null.

    Raises ValueError for a missing field without a default, and for another type.
    """
    value = values.get(name)
    if value is None and default is not _REQUIRED:
        return default
    if name not in values:
        raise ValueError(f"{name!r} is missing")
    return checked_value(name, value, wanted)

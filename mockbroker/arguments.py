"""Types and ranges of the arguments of the mock's methods, and their checks: a mistake in a test must not make it pass."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from kafkawire.errors import ErrorCode

__all__ = [
    "Count",
    "Int32",
    "Ordinal",
    "Probability",
    "Range",
    "Seconds",
    "Size",
    "Version",
    "bare_type",
    "check_argument",
    "check_arguments",
    "hints",
    "mismatch_of",
    "short_repr",
]


@dataclass(frozen=True, slots=True)
class Range:
    """Values that a number may have, both ends included."""

    lowest: float
    highest: float


LONGEST: Final = 1e8
"""Seconds, about three years: the clock advances no further at once, and nothing waits longer."""

_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_ANY_NUMBER = Range(-_INT64 - 1, _INT64)

Int32 = Annotated[int, Range(0, _INT32)]
"""Ids, indexes and sizes as the protocol has them."""
Version = Annotated[int, Range(0, 2**15 - 1)]
Size = Annotated[int, Range(1, _INT32)]
"""Bytes, at least one."""
Count = Annotated[int, Range(0, _INT64)]
Ordinal = Annotated[int, Range(1, _INT64)]
"""Number of something that is counted from 1."""
Probability = Annotated[float, Range(0, 1)]
Seconds = Annotated[float, Range(0, LONGEST)]

_EXPECTED = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    ErrorCode: "an ErrorCode",
}
_LONGEST_REPR = 100


def bare_type(wanted: Any) -> Any:
    """Return the type without its range."""
    return get_args(wanted)[0] if get_origin(wanted) is Annotated else wanted


def mismatch_of(value: object, wanted: Any) -> str | None:
    """Describe the type that a value should have; None if it has it.

    wanted: a type of JSON, ErrorCode, a Literal, or one of these with a range, which is not checked. Numbers are finite, and
    whole numbers fit into 64 bits.
    """
    wanted = bare_type(wanted)
    if get_origin(wanted) is Literal:
        return None if value in get_args(wanted) else " or ".join(map(repr, get_args(wanted)))
    if isinstance(value, bool):
        fits = wanted is bool
    elif not isinstance(value, int | float):
        fits = isinstance(value, wanted)
    elif wanted is float:
        fits = abs(value) <= _INT64  # False for infinity and NaN
    else:
        fits = isinstance(value, wanted) and -_INT64 - 1 <= value <= _INT64
    return None if fits else _EXPECTED[wanted]


def short_repr(value: object) -> str:
    """Return the repr of a value for a message, cut off where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}..."


def check_arguments(function: str, given: Mapping[str, object], wanted: Mapping[str, Any]) -> None:
    """Check keyword arguments by name, type and range.

    Raises TypeError for an unknown name or a wrong type, ValueError for a value out of range.
    """
    for name, value in given.items():
        if name not in wanted:
            raise TypeError(f"{function} takes no {name!r}; it takes {', '.join(wanted)}")
        check_argument(name, value, wanted[name])


def check_argument(name: str, value: object, wanted: Any) -> None:
    """Check the type of an argument, and its range if it is a number. Raises TypeError, ValueError."""
    expected = mismatch_of(value, wanted)
    if expected is not None:
        raise (ValueError if bare_type(wanted) is float and isinstance(value, float) else TypeError)(
            f"{name!r} is {short_repr(value)}; it has to be {expected}"
        )
    allowed = _ANY_NUMBER if bare_type(wanted) is wanted else get_args(wanted)[1]
    if isinstance(value, int | float) and not allowed.lowest <= value <= allowed.highest:
        raise ValueError(f"{name!r} is {short_repr(value)}; it has to be from {allowed.lowest:g} to {allowed.highest:g}")


@cache
def hints(kind: Hashable) -> dict[str, Any]:
    """Return the types of a TypedDict's keys, by name, with their ranges."""
    return get_type_hints(kind, include_extras=True)

"""Checks of the arguments of faults, journal and clock: a mistake there must not make a test green."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kafkawire.errors import ErrorCode

__all__ = ["LONGEST", "check_argument", "check_options", "hints", "misfit", "shown"]

LONGEST = 1e8
"""Seconds, about three years: no clock goes further at once, and nothing waits longer."""

_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_FORMS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    ErrorCode: "an ErrorCode",
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "after_bytes": (0, _INT32),
    "broker": (0, _INT32),
    "connection": (1, _INT64),
    "count": (0, _INT64),
    "nth": (1, _INT64),
    "partition": (0, _INT32),
    "pause": (0, LONGEST),
    "probability": (0, 1),
    "seconds": (0, LONGEST),
    "size": (1, _INT32),
    "throttle_time_ms": (0, _INT32),
    "timeout": (0, LONGEST),
    "times": (1, _INT64),
    "version": (0, 2**15 - 1),
}
_LONGEST_SHOWN = 100


def misfit(value: object, wanted: Any) -> str | None:
    """In words, what a value has to be; None if it is: of one of JSON's types, ErrorCode, or one of a Literal.

    Numbers are finite, and whole ones fit into 64 bits.
    """
    if get_origin(wanted) is Literal:
        return None if value in get_args(wanted) else " or ".join(map(repr, get_args(wanted)))
    if isinstance(value, bool):
        fits = wanted is bool
    elif not isinstance(value, int | float):
        fits = isinstance(value, wanted)
    elif wanted is float:
        fits = abs(value) <= _INT64  # not of infinity, nor of what is no number
    else:
        fits = isinstance(value, wanted) and -_INT64 - 1 <= value <= _INT64
    return None if fits else _FORMS[wanted]


def shown(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def check_options(what: str, given: Mapping[str, object], wanted: Mapping[str, Any]) -> None:
    """Check arguments by the types that they may have. Raises TypeError for an unknown name or type, ValueError for a range."""
    for name, value in given.items():
        if name not in wanted:
            raise TypeError(f"{what} takes no {name!r}; it takes {', '.join(wanted)}")
        check_argument(name, value, wanted[name])


def check_argument(name: str, value: object, wanted: Any) -> None:
    """Check one argument: its type, and its range if it is a number. Raises TypeError, ValueError."""
    form = misfit(value, wanted)
    if form is not None:
        raise (ValueError if wanted is float and isinstance(value, float) else TypeError)(
            f"{name!r} is {shown(value)}; it has to be {form}"
        )
    lowest, highest = _RANGES.get(name, (-_INT64 - 1, _INT64))
    if isinstance(value, int | float) and not lowest <= value <= highest:
        raise ValueError(f"{name!r} is {shown(value)}; it has to be from {lowest:g} to {highest:g}")


@cache
def hints(kind: Hashable) -> dict[str, Any]:
    """The types of a TypedDict's keys, by name."""
    return get_type_hints(kind)

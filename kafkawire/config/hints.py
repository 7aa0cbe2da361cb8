"""Types that options are declared with: their alternatives, and the check of a value against them."""

from __future__ import annotations

from typing import Any, get_args

__all__ = ["alternatives", "expected", "fits"]

_PLAIN = (bool, int, str, type(None))
"""Types that a value can be checked against; of all others only functions are told from the rest."""


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union: `int | None` -> (int, NoneType); a type that is no union is its only member."""
    return get_args(hint) if type(hint).__name__ in ("UnionType", "_UnionGenericAlias", "Union") else (hint,)


def fits(value: Any, hint: Any) -> bool:
    """Return True if a value is of the type, as far as that can be checked."""
    kinds = alternatives(hint)
    if any(kind in kinds and isinstance(value, kind) and not (kind is int and isinstance(value, bool)) for kind in _PLAIN):
        return True
    if all(kind in _PLAIN for kind in kinds):
        return False
    return callable(value) or value is None or not any("Callable" in str(kind) for kind in kinds)


def expected(hint: Any) -> str:
    """Return the name of the type for an error message."""
    kinds = alternatives(hint)
    if any(kind not in _PLAIN for kind in kinds):
        return "callable"
    return " or ".join(kind.__name__.replace("NoneType", "None") for kind in kinds)

"""Names that are no option: advice for the error message."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from kafkawire.config.options import ConsumerOptions, ProducerOptions, declared
from kafkawire.foreign_options import advice, is_foreign

__all__ = ["advice_on", "is_unset"]


def is_unset(name: str, value: Any) -> bool:
    """Return True for an option of another client that is None, which means "not set" in all of them."""
    return value is None and is_foreign(name)


def advice_on(name: str, table: Mapping[str, Any], *, dotted: bool = False) -> str:
    """Return the end of an error message about a name that `table` does not have: the equivalent, or the nearest name."""
    if "." in name:
        return ": keywords have underscores for dots; from_properties() takes names with dots"
    if is_foreign(name):
        return f": {advice(name, dotted=dotted)}"
    for kind in (ProducerOptions, ConsumerOptions):
        if name in declared(kind):
            return f": it is an option of {kind.__name__.removesuffix('Options')}"
    near = difflib.get_close_matches(name, table, n=1, cutoff=0.5)
    if not near:
        return ""
    return f": did you mean {near[0].replace('_', '.') if dotted else near[0]!r}?"

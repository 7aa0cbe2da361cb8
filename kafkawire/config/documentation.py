"""Documentation of options, made of their declarations: for `help()`, error messages and docs/options.md.

The meaning of an option is the docstring below its declaration, which editors show. Python does not keep it, so it is read
from the source of the declarations when it is first needed; without the source everything else is still there.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kafkawire.config import options
from kafkawire.config.options import ConnectionOptions, Option, declared

__all__ = ["OptionText", "meaning", "options_of", "options_text", "written"]


class OptionText(NamedTuple):
    """Documentation of one option."""

    name: str
    type: str
    """The type as the declaration has it."""
    text: str
    """A sentence that says the meaning."""
    option: Option

    @property
    def limits(self) -> str:
        """Values that the option may have, as the end of a sentence; "" for all values of the type."""
        choices = self.option.choices
        if choices is None:
            return "" if self.option.minimum is None else f"at least {self.option.minimum}"
        if len(choices) == 1:
            return f"only {choices[0]!r}: {self.option.hint}"
        return f"one of {', '.join(map(repr, choices))}"


def options_of(kind: type[Any]) -> list[OptionText]:
    """Return the documentation of the options that a class declares itself, in the order of the declarations."""
    inherited = {} if kind is ConnectionOptions else declared(ConnectionOptions)
    texts = written().get(kind.__name__, {})
    own = {name: option for name, (_, option) in declared(kind).items() if name not in inherited}
    return [OptionText(name, *texts.get(name, ("", "")), option) for name, option in own.items()]


def options_text(kind: type[Any]) -> str:
    """Return the documentation of all options of a class as lines for `help()`."""
    lines = []
    for one in options_of(kind):
        limits = f", {one.limits}" if one.limits else ""
        lines += [f"{one.name}: {one.type} = {one.option.default!r}{limits}", f"    {one.text}"]
    return "\n".join(lines)


def meaning(kind: type[Any], name: str) -> str:
    """Return the sentences that an error message about the value of an option ends with."""
    one = next(one for part in (kind, ConnectionOptions) for one in options_of(part) if one.name == name)
    return f"{one.text} Default: {one.option.default!r}.".lstrip()


@cache
def written() -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """Read the declarations: class -> name -> (type, docstring). Empty where the package is installed without source."""
    try:
        module = ast.parse(inspect.getsource(options))
    except OSError:
        return {}
    return {node.name: _fields(node) for node in module.body if isinstance(node, ast.ClassDef)}


def _fields(declaration: ast.ClassDef) -> dict[str, tuple[str, str]]:
    fields = {}
    for field, after in zip(declaration.body, declaration.body[1:], strict=False):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Subscript(slice=ast.Tuple(elts=[hint, _]))),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                fields[name] = (ast.unparse(hint), " ".join(text.split()))
    return fields

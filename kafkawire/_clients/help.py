"""Documentation that `help()` shows: the options of a client, and examples of asyncio made of the blocking ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from inspect import cleandoc, iscoroutinefunction
from typing import Any, TypeVar, cast

from kafkawire.config import ConnectionOptions
from kafkawire.config.documentation import options_text

__all__ = ["with_awaited_examples", "with_options"]

T = TypeVar("T")

_CALL = re.compile(r"\b(?:connection|producer|consumer)\.(\w+)\(")
_RESULT = re.compile(r"\bdelivery\.result\([^)]*\)")


class _DocWithOptions:
    """Descriptor of a class's `__doc__`: the docstring, and the options, which are read when somebody asks."""

    def __init__(self, docstring: str, kind: type[Any]) -> None:
        self._docstring = docstring
        self._kind = kind

    def __get__(self, instance: object, owner: type[Any]) -> str:
        parts = [cleandoc(self._docstring)]
        if self._kind is not ConnectionOptions:
            parts += ["Options:", options_text(self._kind), "Options of the connection, unless it is given one:"]
        else:
            parts += ["Options:"]
        return "\n\n".join([*parts, options_text(ConnectionOptions)])


def with_options(kind: type[Any]) -> Callable[[type[T]], type[T]]:
    """Decorates a client class: `help()` shows the options of `kind` below its docstring."""

    def decorate(cls: type[T]) -> type[T]:
        cls.__doc__ = cast(Any, _DocWithOptions(cls.__doc__ or "", kind))
        return cls

    return decorate


def with_awaited_examples(cls: type[T]) -> type[T]:
    """Decorates an asyncio class: `help()` shows the docstrings that its coroutines inherit, with `await` in the examples."""
    coroutines = {name for name, member in vars(cls).items() if iscoroutinefunction(member)}
    for name in coroutines:
        inherited = next((vars(base)[name].__doc__ for base in cls.__mro__[1:] if name in vars(base)), None)
        if inherited is not None:
            vars(cls)[name].__doc__ = awaited(inherited, coroutines)
    return cls


def awaited(docstring: str, coroutines: Container[str]) -> str:
    """Return a docstring with `await` in its example, for calls of these names and for results of deliveries."""

    def in_call(call: re.Match[str]) -> str:
        return f"await {call[0]}" if call[1] in coroutines else call[0]

    text, title, example = docstring.partition("Example:")
    return text + title + _RESULT.sub("await delivery", _CALL.sub(in_call, example))

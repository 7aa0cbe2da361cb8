"""Documentation of the clients for `help()`, made when it is asked for: importing a client does no work for it."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar, cast

from kafkawire.config import ConnectionOptions
from kafkawire.config.documentation import options_text

__all__ = ["with_options"]

T = TypeVar("T")


class _DocWithOptions:
    """Descriptor of a class's `__doc__`: its docstring, and its options."""

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

"""Parts of the control port's table: a resource, the request that it is given, and what it may answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.arguments import short_repr
from mockbroker.json_values import checked_value

if TYPE_CHECKING:
    from http import HTTPStatus

    from mockbroker.mock import MockCluster

__all__ = ["ControlRequest", "JsonLines", "RefusedError", "Resource", "ResourceTable"]


class RefusedError(Exception):
    """Request that is answered with an HTTP status other than 200."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class ControlRequest(NamedTuple):
    """One request to the control port, as resources get it."""

    kafka: MockCluster
    path_parts: tuple[str, ...]
    """Parts of the path that stand for the braces in the path of the resource."""
    query: Mapping[str, str]
    body: Any
    """The body's JSON value, or its text if the resource takes JSON lines; None without a body."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Fields of the body, which has to be an object; none without a body."""
        return {} if self.body is None else checked_value("the body", self.body, dict)

    def integer(self, name: str, default: int) -> int:
        """Return a whole number of the query. Raises ValueError."""
        found: int = self._number(name, int, default)
        return found

    def seconds(self, name: str, default: float) -> float:
        """Return a number of seconds of the query. Raises ValueError."""
        found: float = self._number(name, float, default)
        return found

    def _number(self, name: str, kind: type[Any], default: float) -> Any:
        try:
            return checked_value(name, kind(self.query.get(name, default)), kind)
        except ValueError:
            raise ValueError(f"{name!r} is {short_repr(self.query[name])}; it has to be a number") from None


class JsonLines(str):
    """Answer of JSON lines, which is sent as it is."""

    __slots__ = ()


class Resource(NamedTuple):
    """One line of the table."""

    method: str
    path: str
    """{name} stands for any part of a path, {this|that} for one of these parts."""
    pattern: re.Pattern[str]
    act: Callable[[ControlRequest], Any]
    """Returns JSON values, `JsonLines` or None. Raises ValueError, BrokerError, AssertionError, RefusedError."""
    lines: bool
    """True if the body is JSON lines."""

    @property
    def description(self) -> str:
        """Text for users: what the resource does and takes, from the docstring of its function."""
        return " ".join((self.act.__doc__ or "").split())


class ResourceTable:
    """Resources of one file, in order."""

    def __init__(self) -> None:
        self.resources: list[Resource] = []

    def serves(
        self, method: str, path: str, *, lines: bool = False
    ) -> Callable[[Callable[[ControlRequest], Any]], Callable[[ControlRequest], Any]]:
        """Decorate a function that serves a resource. Its docstring is for users."""

        def keep(act: Callable[[ControlRequest], Any]) -> Callable[[ControlRequest], Any]:
            self.resources.append(Resource(method, path, _pattern(path), act, lines))
            return act

        return keep


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{([^}]*)\}", path)  # by turns text and the name in braces
    kinds = [f"({part if '|' in part else '[^/]+'})" if at % 2 else re.escape(part) for at, part in enumerate(parts)]
    return re.compile("".join(kinds))

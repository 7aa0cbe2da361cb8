"""The APIs, one module each, declarations only; a module is loaded when one of its messages is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from kafkawire.protocol.schema import Request, Response

__all__ = ["API_KEYS", "request", "response"]

API_KEYS: Final[dict[str, int]] = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "InitProducerId": 22,
}
"""API names as Kafka spells them, and their keys. The module of an API is its name in snake_case."""

_NAMES: Final = {key: name for name, key in API_KEYS.items()}


@cache
def request(api: int | str) -> type[Request]:
    """The request class of an API, by key or name. Raises KeyError for one that is not declared."""
    found: type[Request] = _load(api, "Request")
    return found


@cache
def response(api: int | str) -> type[Response]:
    """The response class of an API, by key or name. Raises KeyError for one that is not declared."""
    found: type[Response] = _load(api, "Response")
    return found


def _load(api: int | str, kind: str) -> Any:
    name = _NAMES[api] if isinstance(api, int) else api
    if name not in API_KEYS:
        raise KeyError(api)
    module = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
    return getattr(import_module(f"kafkawire.protocol.messages.{module}"), name + kind)

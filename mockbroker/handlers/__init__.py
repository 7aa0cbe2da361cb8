"""What the mock brokers serve: one module per API, named after it, with its `handle(call, request, now)`.

A module is loaded when the first request of its API comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Final

from kafkawire.protocol.messages import API_KEYS, module_name

if TYPE_CHECKING:
    from mockbroker.answers import Answer
    from mockbroker.call import Call

__all__ = ["SERVED", "Handle", "handler"]

Handle = Callable[["Call", Any, float], "Answer"]

_MODULES: Final = {module.name for module in iter_modules(__path__)}

SERVED: Final[dict[int, str]] = {key: name for name, key in API_KEYS.items() if module_name(name) in _MODULES}
"""The names of the APIs that are served, by key."""


@cache
def handler(api_key: int) -> Handle:
    """What answers the requests of an API. Raises KeyError for one that is not served."""
    handle: Handle = import_module(f"{__name__}.{module_name(SERVED[api_key])}").handle
    return handle

"""Handlers of the APIs: one module an API, named after it, with its `handle(context, request, now)`.

A module is loaded when the first request of its API comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkawire.protocol.messages import module_name
from mockbroker.broker.registry import SERVED

if TYPE_CHECKING:
    from mockbroker.broker.answers import Answer
    from mockbroker.broker.context import RequestContext

__all__ = ["Handle", "handler"]

Handle = Callable[["RequestContext", Any, float], "Answer"]


@cache
def handler(api_key: int) -> Handle:
    """Find the handler of an API. Raises KeyError for one that is not served."""
    handle: Handle = import_module(f"{__name__}.{module_name(SERVED[api_key])}").handle
    return handle

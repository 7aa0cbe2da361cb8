"""What the mock brokers serve: one module per API, each with its `REQUEST` class and `handle(call, request, now)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.handlers import (
    api_versions,
    create_topics,
    delete_topics,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
)

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Request
    from mockbroker.call import Answer, Call

__all__ = ["HANDLERS", "Handler"]


class Handler(NamedTuple):
    """One API: its request class and the function that answers it."""

    request: type[Request]
    handle: Callable[[Call, Any, float], Answer]


HANDLERS: dict[int, Handler] = {
    module.REQUEST.key: Handler(module.REQUEST, module.handle)
    for module in (
        api_versions,
        create_topics,
        delete_topics,
        fetch,
        find_coordinator,
        init_producer_id,
        list_offsets,
        metadata,
        offset_commit,
        offset_fetch,
        produce,
    )
}
"""By API key."""

"""The thread of an event loop: other threads hand it the calls that change a driver's state."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

__all__ = ["LoopThread", "resolve"]


class LoopThread:
    """The thread that runs an event loop. Made on that thread."""

    __slots__ = ("_ident", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ident = threading.get_ident()

    def call(self, call: Callable[..., None], *arguments: Any) -> None:
        """Make the call on the loop's thread: now, if this is it. Once the loop is closed, drop the call."""
        if self.loop.is_closed():
            return
        if threading.get_ident() == self._ident:
            call(*arguments)
            return
        with contextlib.suppress(RuntimeError):  # closed at this moment
            self.loop.call_soon_threadsafe(call, *arguments)


def resolve(future: asyncio.Future[None]) -> None:
    """Complete a future that nobody has completed or cancelled before."""
    if not future.done():
        future.set_result(None)

"""Signals and pendings of the asyncio driver: flags that resolve a waiter's future, and replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.net.aio.loop import LoopThread, resolve
from kafkawire.net.driver import Reply

if TYPE_CHECKING:
    import asyncio

__all__ = ["Pending", "Signal"]


class Signal:
    """A flag that resolves the future of its waiter; see `net.base.Signal`."""

    __slots__ = ("_thread", "flag", "future")

    def __init__(self, thread: LoopThread) -> None:
        self.flag = False
        self.future: asyncio.Future[None] | None = None
        """The future that a wait awaits, stored by `Net.wait`."""
        self._thread = thread

    def set(self) -> None:
        """Raise the flag and wake the waiter; any thread."""
        self.flag = True
        if self.future is not None:
            self._thread.call(self._wake)

    def clear(self) -> None:
        """Lower the flag."""
        self.flag = False

    def _wake(self) -> None:
        if self.future is not None:
            resolve(self.future)


class Pending(Reply[Signal]):
    """One outstanding reply; see `net.base.Pending`. Completed on the loop's thread."""

    __slots__ = ()

    def complete(self, value: bytearray | None, error: Exception | None) -> None:
        """Store the outcome, unless there is one, and wake the owner."""
        if self.signal is None:
            self.error = error
        elif not self.done:
            self.value = value
            self.error = error
            self.done = True
            self.signal.set()

"""Signals, pendings and flows of a simulation; they turn into errors what would be only a race elsewhere."""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sim.driver import SimNet

__all__ = ["Lock", "Pending", "Signal", "Task", "suspend"]


@types.coroutine
def suspend(signal: Signal, deadline: float) -> Generator[tuple[Signal, float], None, None]:
    yield signal, deadline


class Signal:
    """See `net.base.Signal`."""

    __slots__ = ("flag", "net", "waiter")

    def __init__(self, net: SimNet) -> None:
        self.flag = False
        self.net = net
        self.waiter: Task | None = None

    def set(self) -> None:
        self.flag = True
        if self.waiter is not None:
            self.net.make_ready(self.waiter)

    def clear(self) -> None:
        self.net.maybe_intrude()
        self.flag = False
        self.net.maybe_intrude()


class Pending:
    """See `net.base.Pending`."""

    def __init__(self, signal: Signal | None) -> None:
        self.signal = signal
        self.done = signal is None
        self.value: bytearray | None = None
        self.error: Exception | None = None

    def complete(self, value: bytearray | None, error: Exception | None) -> None:
        """Every call sets the signal again, as in the blocking driver: flows have to tolerate spurious wake-ups."""
        if self.signal is None:
            self.error = error
            return
        if not self.done:
            self.value, self.error, self.done = value, error, True
        self.signal.set()

    def result(self) -> bytearray:
        if self.error is not None:
            raise self.error.with_traceback(None)
        return self.value if self.value is not None else bytearray()


class Lock:
    """No lock, as there is one thread: it checks that holders neither wait nor take it twice, and lets others in between."""

    def __init__(self, net: SimNet) -> None:
        self._net = net
        self._held = False

    def acquire(self) -> bool:
        self._net.maybe_intrude()
        assert not self._held, "a lock was taken twice: what it guards would be seen half changed"
        self._held = True
        self._net.locks_held += 1
        return True

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("cannot release what is not held")
        self._held = False
        self._net.locks_held -= 1
        self._net.maybe_intrude()

    __enter__ = acquire

    def __exit__(self, *exc_info: object) -> None:
        self.release()


class Task:
    """See `net.base.Task`."""

    def __init__(self, coro: Coroutine[Any, Any, Any], number: int, name: str, ended: Signal | None) -> None:
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.coro = coro
        self.number = number
        self.name = name
        self.ended = ended
        self.parked = 0
        """Number of suspensions, so that a timer can tell its own wait from a later one."""
        self.signal: Signal | None = None
        self.interrupted = False
        self.waits = 0
        """Number of calls of wait, whether it had to wait or not."""
        self._second = 0
        self._waits_before = 0

    def count_wait(self, now: float) -> int:
        """One more; returns how many it were in this virtual second."""
        if int(now) != self._second:
            self._second, self._waits_before = int(now), self.waits
        self.waits += 1
        return self.waits - self._waits_before

"""Work that several flows wait for together, and that runs once: a connect, a round of metadata requests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kafkawire.net.base import Net, Signal

__all__ = ["SingleFlight"]


class SingleFlight:
    """Runs `work` at most once at a time, however many flows ask for it. Thread-safe.

    A run has deadlines of its own: a caller that gives up, or is interrupted, leaves it to the others. `work` reports through
    state of its owner, which callers look at again after the run; it raises nothing.
    """

    def __init__(self, net: Net, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        self._net = net
        self._work = work
        self._name = name
        self._lock = net.lock()
        self._running = False
        self._waiting: dict[Signal, None] = {}

    def start(self, signal: Signal) -> None:
        """Start a run unless one is in progress; `signal` is set at its end. Does not wait."""
        with self._lock:
            self._waiting[signal] = None
            if self._running:
                return
            try:
                self._running = True
                self._net.spawn(self._run(), name=self._name, brief=True)
            except BaseException:
                self._running = False
                raise

    async def join(self, deadline: float) -> bool:
        """Start a run unless one is in progress, and wait for its end; False if the deadline came first."""
        signal = self._net.signal()
        self.start(signal)
        try:
            return await self._net.wait(signal, deadline)
        finally:
            with self._lock:
                self._waiting.pop(signal, None)

    async def _run(self) -> None:
        try:
            await self._work()
        finally:
            with self._lock:
                self._running = False
                waiting = list(self._waiting)
                self._waiting.clear()
            for signal in waiting:
                signal.set()

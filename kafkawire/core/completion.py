"""Waiting for the end of a flow."""

from __future__ import annotations

from kafkawire.net.base import Net, Signal

__all__ = ["Completion"]


class Completion:
    """The end of a flow, for which any number of other flows can wait. Thread-safe."""

    def __init__(self, net: Net) -> None:
        self.reached = False
        self._begun = False
        self._net = net
        self._lock = net.lock()
        self._waiting: dict[Signal, None] = {}

    def begin(self) -> bool:
        """Called by the flow before anything else; False if the flow was begun before, by a call interrupted in `spawn`."""
        with self._lock:
            first, self._begun = not self._begun, True
            return first

    def reach(self) -> None:
        """Called by the flow after everything else."""
        with self._lock:
            self.reached = True
            waiting = list(self._waiting)
        for signal in waiting:
            signal.set()

    async def wait(self, deadline: float) -> bool:
        """Wait for the end of the flow; False if the deadline came first."""
        signal = self._net.signal()
        with self._lock:
            self._waiting[signal] = None
        try:
            return self.reached or await self._net.wait(signal, deadline)
        finally:
            with self._lock:
                self._waiting.pop(signal, None)

"""Timers of a cluster: calls in the order of their deadlines. No clock: the driver passes the time in."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

__all__ = ["NEVER", "Timer", "Timers"]

NEVER = float("inf")

_FEW = 64
"""Number of cancelled timers up to which they stay in the heap."""


class Timer:
    """One call at a deadline. It is made once, and not after `cancel`."""

    __slots__ = ("_timers", "action", "deadline")

    def __init__(self, timers: Timers, deadline: float, action: Callable[[float], None]) -> None:
        self.deadline = deadline
        self.action: Callable[[float], None] | None = action
        """Call to make; None once it was made or cancelled."""
        self._timers = timers

    def cancel(self) -> None:
        """Cancel the call. Does nothing if it was made."""
        if self.action is not None:
            self.action = None
            self._timers.cancelled()


class Timers:
    """Timers of a cluster.

    `on_earlier(deadline)` is called when the next deadline has become earlier; drivers set it.
    """

    __slots__ = ("_cancelled", "_heap", "_numbers", "on_earlier")

    def __init__(self) -> None:
        self.on_earlier: Callable[[float], None] = lambda _deadline: None
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._cancelled = 0

    def at(self, deadline: float, action: Callable[[float], None]) -> Timer:
        """Call `action(now)` as soon as `now` has reached the deadline, never from within this call."""
        earlier = deadline < self.next_deadline
        timer = Timer(self, deadline, action)
        heapq.heappush(self._heap, (deadline, next(self._numbers), timer))
        if earlier:
            self.on_earlier(deadline)
        return timer

    @property
    def next_deadline(self) -> float:
        """Earliest deadline; NEVER if there is none."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        return self._heap[0][0] if self._heap else NEVER

    def run(self, now: float) -> None:
        """Make the calls that are due, those with equal deadlines in the order of their `at`."""
        while self.next_deadline <= now:
            timer = heapq.heappop(self._heap)[2]
            action, timer.action = timer.action, None
            if action is not None:
                action(now)

    def cancelled(self) -> None:
        """Count a cancelled timer, and clear all of them out when they are half of the heap."""
        self._cancelled += 1
        if self._cancelled > max(_FEW, len(self._heap) // 2):
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

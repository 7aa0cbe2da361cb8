"""The clock of a cluster on TCP: real time, until a test holds it and moves it on by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from mockbroker.arguments import Seconds, check_argument

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

__all__ = ["Driver", "MockClock"]


class Driver(Protocol):
    """What the clock needs of whoever runs the cluster."""

    def call(self, action: Callable[[], None]) -> None:
        """Run an action where the cluster may be touched, and wait for its end."""

    def settle(self) -> None:
        """Do all that is due now. Within `call` only."""


class MockClock:
    """All timers of a cluster run on it: waiting fetches, delays, session timeouts, LogAppendTime. Any thread may call it.

    While it is held, its time stands still but for `advance`.
    """

    def __init__(self, cluster: Cluster, *, held: bool = False) -> None:
        self._cluster = cluster
        self._ahead = 0.0
        self._held_at = time.monotonic() if held else None
        self._driver: Driver

    def drive(self, driver: Driver) -> None:
        """Tell it who runs the cluster, before it is used."""
        self._driver = driver

    def now(self) -> float:
        """The `now` of the cluster, in seconds."""
        held_at = self._held_at
        return time.monotonic() + self._ahead if held_at is None else held_at

    def time(self) -> float:
        """Seconds since the epoch, as records that are appended now get them."""
        return self.now() + self._cluster.wall_clock_offset

    @property
    def held(self) -> bool:
        return self._held_at is not None

    def hold(self) -> None:
        """Let time stand still. Does nothing when it does."""
        self._driver.call(self._hold)

    def release(self) -> None:
        """Let time pass by itself again, from where it stands. Does nothing when it does."""
        self._driver.call(self._release)

    def advance(self, seconds: float) -> None:
        """Move time on, and let everything happen that is due in it, each at its own time; then return.

        Raises ValueError for a time that is negative, not finite, or beyond 1e8 s.

        Requests that a client has sent, but the broker not yet read, begin afterwards: wait for them with `journal.wait_for`.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back ({seconds} s)")
        check_argument("seconds", seconds, Seconds)
        self._driver.call(lambda: self._advance(seconds))

    def _hold(self) -> None:
        self._held_at = self.now()

    def _release(self) -> None:
        if self._held_at is not None:
            self._ahead = self._held_at - time.monotonic()
            self._held_at = None

    def _advance(self, seconds: float) -> None:
        was_held, end = self.held, self.now() + seconds
        self._hold()
        timers = self._cluster.timers
        while timers.next_deadline <= end:
            self._held_at = max(timers.next_deadline, self.now())
            self._driver.settle()
        self._held_at = end
        self._driver.settle()
        if not was_held:
            self._release()

    def __repr__(self) -> str:
        return f"<MockClock at {self.time():.3f}{', held' if self.held else ''}>"

"""Clock of a cluster on TCP, as tests use it: they read it, hold it and move it on."""

from __future__ import annotations

from mockbroker.arguments import Seconds, check_argument
from mockbroker.drive.loop import IoLoop

__all__ = ["MockClock"]


class MockClock:
    """Clock that all timers of a cluster run on: waiting fetches, delays, session timeouts, LogAppendTime. Thread-safe.

    While it is held, its time stands still but for `advance`. loop: runs the cluster. wall_clock_offset: seconds from the
    loop's time to the time since the epoch.
    """

    def __init__(self, loop: IoLoop, wall_clock_offset: float) -> None:
        self._loop = loop
        self._time = loop.time
        self._wall_clock_offset = wall_clock_offset

    def now(self) -> float:
        """Return the `now` of the cluster, in seconds."""
        return self._time.now()

    def time(self) -> float:
        """Return the seconds since the epoch, as records get them that are appended now."""
        return self.now() + self._wall_clock_offset

    @property
    def held(self) -> bool:
        """True while the time stands still."""
        return self._time.held

    def hold(self) -> None:
        """Let time stand still. Does nothing if it does already."""
        self._loop.call(self._hold)

    def release(self) -> None:
        """Let time pass by itself again, from where it stands. Does nothing if it passes already."""
        self._loop.call(self._time.release)

    def advance(self, seconds: float) -> None:
        """Move time on, and let everything happen that is due in it, each thing at its own time; then return.

        Raises ValueError for a time that is negative, not finite, or beyond 1e8 s.

        Requests that a client has sent, but the broker not yet read, begin afterwards: wait for them with `journal.wait_for`.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back ({seconds} s)")
        check_argument("seconds", seconds, Seconds)
        self._loop.call(lambda: self._advance(seconds))

    def _hold(self) -> None:
        self._time.hold_at(self.now())

    def _advance(self, seconds: float) -> None:
        was_held, end = self.held, self.now() + seconds
        self._hold()
        timers = self._loop.timers
        while timers.next_deadline <= end:
            self._time.hold_at(max(timers.next_deadline, self.now()))
            self._loop.settle()
        self._time.hold_at(end)
        self._loop.settle()
        if not was_held:
            self._time.release()

    def __repr__(self) -> str:
        return f"<MockClock at {self.time():.3f}{', held' if self.held else ''}>"

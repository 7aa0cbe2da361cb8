"""Time of a cluster on TCP: the monotonic clock, unless a test holds it."""

from __future__ import annotations

import time

__all__ = ["ClusterTime"]


class ClusterTime:
    """Time in seconds, the `now` of a cluster. The cluster's thread changes it; any thread may read it."""

    def __init__(self, *, held: bool = False) -> None:
        self._ahead = 0.0
        """Seconds by which the time is ahead of the monotonic clock while it is not held."""
        self._held_at = time.monotonic() if held else None

    def now(self) -> float:
        """Return the time."""
        held_at = self._held_at
        return time.monotonic() + self._ahead if held_at is None else held_at

    @property
    def held(self) -> bool:
        """True while the time stands still."""
        return self._held_at is not None

    def hold_at(self, moment: float) -> None:
        """Let the time stand still at a moment."""
        self._held_at = moment

    def release(self) -> None:
        """Let the time pass again, from the moment at which it stands. Does nothing if it is not held."""
        if self._held_at is not None:
            self._ahead = self._held_at - time.monotonic()
            self._held_at = None

"""Pauses between attempts, exponential with jitter (KIP-580), and rate limits for log lines about one subject."""

from __future__ import annotations

import random
from collections.abc import Hashable

__all__ = ["Backoff", "Seldom"]


class Backoff:
    """Computes the pause after the nth failure in a row.

    `first_ms` and `max_ms` are the limits of the pause. `jitter` is the part of it that is random, so that the clients of a
    broker that comes back do not all connect at once (trap 114).
    """

    def __init__(self, first_ms: int, max_ms: int, jitter: float = 0.2) -> None:
        self._first = first_ms / 1000
        self._max = max(max_ms, first_ms) / 1000
        self._jitter = jitter

    def delay(self, failures: int) -> float:
        """Returns the pause in seconds after `failures` failures in a row (at least one)."""
        pause = min(self._max, self._first * 2.0 ** min(failures - 1, 30))
        return pause * random.uniform(1 - self._jitter, 1 + self._jitter)


class Seldom:
    """Rate limit of a log: of each subject the first line is written, later ones only after a pause. Thread-safe."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._told: dict[Hashable, tuple[float, int]] = {}
        """By subject: the time of the last line written, and the number of lines left out since."""

    def count(self, subject: Hashable, now: float) -> int | None:
        """Count a line; returns how many lines about the subject were left out before it, None if it is to be left out."""
        last, left_out = self._told.get(subject, (float("-inf"), 0))
        if now - last < self._pause:
            self._told[subject] = last, left_out + 1
            return None
        self._told[subject] = now, 0
        return left_out

"""Pauses between attempts: exponential with jitter (KIP-580)."""

from __future__ import annotations

import random

__all__ = ["Backoff"]


class Backoff:
    """How long to pause after the nth failure in a row.

    `first_ms` and `max_ms` are the limits of the pause; `jitter` is the part of it that is random, so that the clients of a
    broker that comes back do not all come at once (trap 114).
    """

    def __init__(self, first_ms: int, max_ms: int, jitter: float = 0.2) -> None:
        self._first = first_ms / 1000
        self._max = max(max_ms, first_ms) / 1000
        self._jitter = jitter

    def delay(self, failures: int) -> float:
        """Seconds to pause after `failures` failures in a row (at least one)."""
        pause = min(self._max, self._first * 2.0 ** min(failures - 1, 30))
        return pause * random.uniform(1 - self._jitter, 1 + self._jitter)

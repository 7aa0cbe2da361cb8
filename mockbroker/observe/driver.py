"""Contract of the observers with the driver that runs their cluster: who may touch its state, and how a test waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["ClusterDriver"]

T = TypeVar("T")


class ClusterDriver(Protocol):
    """Runs a cluster. Its methods are thread-safe."""

    def call(self, action: Callable[[], T]) -> T:
        """Run an action while nothing else touches the cluster and its observers, and return its result."""

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition is true; return False after `timeout` seconds.

        The driver evaluates the condition while nothing else touches the cluster.
        """

"""Waiting for changes of the cluster's state: watcher lists (Kafka's purgatory) and promises."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

__all__ = ["Promise", "Waiter", "Watchers"]

T = TypeVar("T")


class Waiter(Protocol):
    """A connection or a fetch session that waits for a change."""

    def wake(self) -> None:
        """Note that there is something to look at. Never runs a handler: the driver does, soon afterwards."""


class Watchers:
    """Waiters on one thing that changes: one key's list in Kafka's purgatory."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}

    def add(self, waiter: Waiter) -> None:
        self._waiters[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)

    def __len__(self) -> int:
        return len(self._waiters)

    def wake(self) -> None:
        """Wake every waiter after a change. Waiters stay in the list until they remove themselves."""
        for waiter in self._waiters:
            waiter.wake()


class Promise(Generic[T]):
    """Value that is known now or later, such as a group's answer to a JoinGroup (Kafka's CompletableFuture)."""

    __slots__ = ("completed", "value")

    def __init__(self, value: T | None = None) -> None:
        self.value = value
        """None until the promise is completed."""
        self.completed = Watchers()
        """Woken when the value becomes known."""

    def complete(self, value: T) -> None:
        self.value = value
        self.completed.wake()

"""What a handler may answer: a response, silence, or that it has to wait for something; and what can be waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from kafkawire.errors import ErrorCode
from kafkawire.protocol.schema import Response
from mockbroker.state.timers import NEVER

__all__ = ["CLOSE", "HANG", "NO_REPLY", "Answer", "InjectedError", "Parked", "Silence", "Wait", "Waiter", "Watchers"]


class Silence(Enum):
    """Answers that are no response."""

    NO_REPLY = "the client expects none"
    CLOSE = "close the connection"
    HANG = "serve nothing more on the connection, but leave it open"


NO_REPLY = Silence.NO_REPLY
CLOSE = Silence.CLOSE
HANG = Silence.HANG


class Waiter(Protocol):
    """Whoever waits on something: a connection."""

    def wake(self) -> None:
        """Look again, as soon as possible. Only notes that; never runs a handler."""


class Watchers:
    """The waiters on one thing that changes (Kafka's purgatory, one list per key)."""

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
        """The thing has changed. Waiters stay until they take themselves off."""
        for waiter in self._waiters:
            waiter.wake()


@dataclass(slots=True)
class Wait:
    """Not yet: call `resume(now)` when one of `on` changes or at `deadline`, whichever comes first."""

    deadline: float
    on: Sequence[Watchers]
    resume: Callable[[float], Answer]


Answer = Response | Silence | Wait

T = TypeVar("T")


class Parked(Generic[T]):
    """What will be known later, or is known already: how a group answers (Kafka's CompletableFuture)."""

    __slots__ = ("_done", "answer")

    def __init__(self, answer: T | None = None) -> None:
        self.answer = answer
        self._done = Watchers()

    def complete(self, answer: T) -> None:
        self.answer = answer
        self._done.wake()

    def then(self, response: Callable[[T], Answer]) -> Answer:
        """What to answer once it is known."""
        if self.answer is not None:
            return response(self.answer)
        return Wait(NEVER, (self._done,), lambda _now: self.then(response))


@dataclass(frozen=True, slots=True)
class InjectedError:
    """An error that a fault puts into the answer, where the API has room for it."""

    error: ErrorCode
    topic: str | None = None
    partition: int | None = None

    def covers(self, topic: str, partition: int | None = None) -> bool:
        """Whether this topic or partition is to fail."""
        if self.topic is not None and self.topic != topic:
            return False
        return partition is None or self.partition is None or self.partition == partition

"""What a handler is given and what it may answer: the contract between the connection and handlers/."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from kafkawire.errors import ErrorCode
from kafkawire.protocol.schema import Response
from mockbroker.timers import NEVER

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestHeader
    from mockbroker.cluster import Broker, Cluster
    from mockbroker.topics import Partition, Topic

__all__ = [
    "CLOSE",
    "HANG",
    "NO_REPLY",
    "Answer",
    "Call",
    "Client",
    "InjectedError",
    "Parked",
    "Silence",
    "Wait",
    "Waiter",
    "Watchers",
]


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


@dataclass(slots=True)
class Client:
    """What a broker knows about the other end of one connection."""

    connection: int
    """Connections of a cluster are numbered in the order in which they were made."""
    host: str = "127.0.0.1"
    """The address that it connects from."""
    software_name: str = ""
    """As told in ApiVersions since version 3 (KIP-511)."""
    software_version: str = ""


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


@dataclass(slots=True)
class Call:
    """One request with all that it may look at."""

    cluster: Cluster
    broker: Broker
    client: Client
    header: RequestHeader
    all_injected: Sequence[InjectedError] = ()
    """What faults want, one after the other."""

    @property
    def injected(self) -> InjectedError | None:
        """The error for APIs that have room for one only."""
        return self.all_injected[0] if self.all_injected else None

    @property
    def version(self) -> int:
        return self.header.api_version

    def injected_error(self, topic: str, partition: int | None = None) -> ErrorCode | None:
        """The error that a fault wants for this topic or partition."""
        return next((injected.error for injected in self.all_injected if injected.covers(topic, partition)), None)

    def led_partition(
        self, topic: Topic, index: int, leader_epoch: int = -1, *, or_followed: bool = False
    ) -> Partition | ErrorCode:
        """As `Cluster.led_partition` for this broker, unless a fault wants an error."""
        found = self.cluster.led_partition(self.broker, topic, index, leader_epoch, or_followed=or_followed)
        error = self.injected_error(topic.name, index)
        return found if error is None or found is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error

    def group_error(self, group_id: str) -> ErrorCode | None:
        """Why this broker does not answer for a group: a fault wants an error, or another broker coordinates it."""
        if self.injected is not None:
            return self.injected.error
        return None if self.cluster.coordinator(group_id) is self.broker else ErrorCode.NOT_COORDINATOR

    def controller_error(self) -> ErrorCode | None:
        """Before KRaft only the controller took admin requests; since then every broker forwards them."""
        if self.cluster.profile.kraft or self.broker is self.cluster.controller:
            return None
        return ErrorCode.NOT_CONTROLLER

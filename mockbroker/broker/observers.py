"""Observers of a broker's connections, as the connections see them: the journal and the faults of a cluster.

A connection tells the journal of every request and every response, and lets the faults that fire at a request act at each point
of its way: before the handler, after it, and while the response is sent. `mockbroker.observe` implements these protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kafkawire.errors import ErrorCode
from mockbroker.broker.answers import Silence
from mockbroker.state.waiting import Watchers

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Response
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.exchange import Exchange

__all__ = ["ClusterFaults", "ClusterJournal", "InjectedError", "Observers", "RequestFault", "When"]

When = Literal["before", "after"]
"""Before the broker handles the request (which then has no effect), or after (it has, but the client does not hear of it)."""


@dataclass(frozen=True, slots=True)
class InjectedError:
    """Error code that a fault puts into the response, at the topics and partitions it is for."""

    error: ErrorCode
    topic: str | None = None
    partition: int | None = None

    def covers(self, topic: str, partition: int | None = None) -> bool:
        """True if this topic or partition is to fail."""
        if self.topic is not None and self.topic != topic:
            return False
        return partition is None or self.partition is None or self.partition == partition


class RequestFault(Protocol):
    """One fault that fires at a request: its effects, in the order in which the request and its response pass these points."""

    def hold_back(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        """Return the deadline and the watchers that end a wait of the request or its response; None for no wait."""

    def silence(self, when: When) -> Silence | None:
        """Return the silence that replaces the handler's work or the response; None for neither."""

    @property
    def injected_error(self) -> InjectedError | None:
        """Error for the handler to put into the response."""

    def change_response(self, response: Response) -> None:
        """Change the response in place."""

    def damage_frame(self, frame: bytes) -> bytes:
        """Return the bytes to send in place of the response's frame."""

    def split_frame(self, frame: bytes) -> tuple[Sequence[bytes], float]:
        """Return the frame in pieces, and the seconds between them."""

    @property
    def closes_connection(self) -> bool:
        """True if the connection is closed after the response."""

    @property
    def mute_seconds(self) -> float:
        """Seconds after the response in which the connection serves nothing."""


class ClusterFaults(Protocol):
    """Faults of a cluster."""

    def fired_at(self, exchange: Exchange, request: Any) -> Sequence[RequestFault]:
        """Return the faults that fire at a request, in order; counts the request for each fault whose rule selects it."""


class ClusterJournal(Protocol):
    """Journal of a cluster."""

    def record(self, exchange: Exchange) -> None:
        """Add a request that a broker has taken up."""

    def answered(self, exchange: Exchange, when: float, frame: list[Buffer], size: int) -> None:
        """Add the response to its request: a frame of `size` bytes, given at `when` (seconds since the epoch)."""


class Observers(Protocol):
    """Observers of all connections of a cluster."""

    @property
    def faults(self) -> ClusterFaults: ...

    @property
    def journal(self) -> ClusterJournal: ...

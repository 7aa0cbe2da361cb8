"""Member of a classic group, and the outcomes of its JoinGroup and SyncGroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import ErrorCode
from mockbroker.state.waiting import Promise

if TYPE_CHECKING:
    from mockbroker.state.timers import Timer

__all__ = ["Joined", "JoinedMember", "Member", "Synced"]


class JoinedMember(NamedTuple):
    """Member as the leader is told of it."""

    id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Joined:
    """Outcome of a JoinGroup."""

    member_id: str
    error: ErrorCode = ErrorCode.NONE
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: Sequence[JoinedMember] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class Synced:
    """Outcome of a SyncGroup."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(slots=True)
class Member:
    """One member of a classic group."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: dict[str, bytes]
    """Metadata by protocol, the preferred protocol first."""
    assignment: bytes = b""
    is_new: bool = True
    """True until the member's first generation begins: it may expire although it waits."""
    joining: Promise[Joined] | None = None
    """Answer to the JoinGroup in which the member waits."""
    syncing: Promise[Synced] | None = None
    """Answer to the SyncGroup in which the member waits."""
    session: Timer | None = None

    @property
    def waits(self) -> bool:
        """True if a request of the member waits for the group."""
        return self.joining is not None or self.syncing is not None

    def end_join(self, answer: Joined) -> None:
        """Answer the member's JoinGroup, if it waits in one."""
        promise, self.joining = self.joining, None
        if promise is not None:
            promise.complete(answer)

    def end_sync(self, answer: Synced) -> bool:
        """Answer the member's SyncGroup; False if it waits in none."""
        promise, self.syncing = self.syncing, None
        if promise is not None:
            promise.complete(answer)
        return promise is not None

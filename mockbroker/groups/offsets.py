"""A position that a group has committed, and how long it is kept."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CommittedOffset"]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A committed position. Times are those of the driver, in seconds."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    committed_at: float = 0.0
    expires_at: float | None = None
    """Set where the commit itself said how long it lasts, as OffsetCommit 2 to 4 may."""

    def expired(self, now: float, since: float, retention: float) -> bool:
        """Whether it is to be forgotten: at its own time, or else `retention` seconds after `since`."""
        return now >= (since + retention if self.expires_at is None else self.expires_at)

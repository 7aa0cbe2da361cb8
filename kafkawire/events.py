"""Events of a consumer, returned by `Consumer.events()`: no errors, but its user should know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Event", "PositionReset", "TopicRecreated"]


@dataclass(frozen=True, slots=True)
class TopicRecreated:
    """A topic was deleted and created again under its name: its offsets mean other records now.

    A PositionReset follows for each of its partitions, once what was fetched of the old topic has been returned. Brokers before
    2.8 have no topic ids: there a leader epoch that goes back tells, and before 2.1 only a position that the new topic does not
    have. Where it has grown past that position, reading goes on there unnoticed.
    """

    topic: str

    def __str__(self) -> str:
        return f"topic {self.topic!r} was deleted and created again"


@dataclass(frozen=True, slots=True)
class PositionReset:
    """A partition has no record at the position any more: auto_offset_reset decides where to go on."""

    topic: str
    partition: int
    position: int
    """The offset that would have been next."""
    start: str
    """Where reading goes on: "earliest" or "latest"."""
    reason: str

    def __str__(self) -> str:
        where = f"{self.topic} partition {self.partition} at offset {self.position}"
        return f"{where}: {self.reason}; going on at the {self.start} offset"


Event: TypeAlias = TopicRecreated | PositionReset

"""Events of a consumer, which `Consumer.events()` returns: changes of topics and positions that are not errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Event", "PositionReset", "TopicRecreated"]


@dataclass(frozen=True, slots=True)
class TopicRecreated:
    """A topic was deleted and created again with the same name: its offsets mean other records now.

    A PositionReset follows for each partition, after the records that were fetched from the old topic. Brokers since 2.8 send
    topic ids, which tell the two topics apart. Before that a leader epoch that goes back does, and before 2.1 only a position
    that the new topic does not have: if the new topic has grown past the position, reading goes on there without an event.
    """

    topic: str

    def __str__(self) -> str:
        return f"topic {self.topic!r} was deleted and created again"


@dataclass(frozen=True, slots=True)
class PositionReset:
    """A partition has no record at the position any more; reading goes on at an offset chosen by auto_offset_reset."""

    topic: str
    partition: int
    position: int
    """Offset of the record that would have been read next."""
    start: str
    """Offset at which reading goes on: "earliest" or "latest"."""
    reason: str

    def __str__(self) -> str:
        where = f"{self.topic} partition {self.partition} at offset {self.position}"
        return f"{where}: {self.reason}; going on at the {self.start} offset"


Event: TypeAlias = TopicRecreated | PositionReset

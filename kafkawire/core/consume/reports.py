"""Errors of partitions and events, kept for the caller of the consumer."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass

from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.errors import KafkaError
from kafkawire.events import Event

__all__ = ["Reports"]

log = logging.getLogger("kafkawire.consumer")

MOST_EVENTS = 1000


@dataclass(frozen=True, slots=True)
class ReportedError:
    """Error of a partition, the revision of its position, and when it came."""

    error: KafkaError
    revision: int
    at: float


class Reports:
    """Errors that `poll` is to raise and events that `events` is to return. Used in the flow of the consumer's caller only."""

    def __init__(self) -> None:
        self._errors: dict[PartitionState, ReportedError] = {}
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)

    def add_error(self, state: PartitionState, error: KafkaError, now: float) -> None:
        """Have the caller of `poll` hear of an error, unless the partition is sought, paused or taken away before."""
        self._errors[state] = ReportedError(error, state.revision, now)

    def take_error(self, until: float) -> KafkaError | None:
        """Take the oldest error that came before then and still holds."""
        for state, reported in list(self._errors.items()):
            holds = state.revision == reported.revision
            if not holds or reported.at < until:
                del self._errors[state]
            if holds and reported.at < until:
                return reported.error
        return None

    def add_event(self, event: Event) -> None:
        """Keep an event for the caller, and log it."""
        log.warning("%s", event)
        self._events.append(event)

    def take_events(self) -> list[Event]:
        """Take all events, at most the newest thousand."""
        events = self._events
        return [events.popleft() for _ in range(len(events))]

"""Fetches that wait for records (Kafka's DelayedFetch): decides whether a fetch is answered now or has to wait.

A fetch waits until `min_bytes` can be read or `max_wait_ms` has passed. A partition with an error, another replica to read
from or a diverging epoch answers it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchRequest
from kafkawire.protocol.schema import Response
from mockbroker.broker.answers import Answer, Wait
from mockbroker.broker.sessions import PartitionKey
from mockbroker.state.log import EpochEnd
from mockbroker.state.topics import Partition, Topic
from mockbroker.state.waiting import Watchers

__all__ = ["DelayedFetch", "FetchTarget"]

_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class FetchTarget(NamedTuple):
    """One partition of a fetch, and its outcome: records, an error, another replica to read from, or a diverging epoch."""

    key: PartitionKey
    wanted: FetchRequest.Topic.Partition
    topic: Topic | None
    found: Partition | ErrorCode
    end: int = -1
    """Offset behind the last record that the fetch may see."""
    diverging: EpochEnd | None = None
    preferred_replica: int = -1

    @property
    def unknown(self) -> bool:
        """True if the broker need not look into any log to answer."""
        return isinstance(self.found, ErrorCode) and self.found in _UNKNOWN

    @property
    def answers_at_once(self) -> bool:
        """True if the fetch is answered without waiting for records."""
        return isinstance(self.found, ErrorCode) or self.diverging is not None or self.preferred_replica != -1

    @property
    def available(self) -> int:
        """Bytes of records that the fetch could get from the partition now."""
        if isinstance(self.found, ErrorCode):
            return 0
        return min(self.found.log.size_between(self.wanted.fetch_offset, self.end), self.wanted.partition_max_bytes)


@dataclass(frozen=True, slots=True)
class DelayedFetch:
    """One fetch until it is answered.

    look: finds the partitions as they are now. more_changes: watchers to wait for beside the logs of these.
    """

    deadline: float
    min_bytes: int
    look: Callable[[], Sequence[FetchTarget]]
    more_changes: Callable[[], Sequence[Watchers]]
    respond: Callable[[Sequence[FetchTarget], float], Response]

    def try_complete(self, now: float) -> Answer:
        """Respond if there is a reason to do so now, else wait for a change or the deadline."""
        targets = self.look()
        known = [target for target in targets if not target.unknown]
        changes = [target.found.log.changed for target in known if isinstance(target.found, Partition)]
        changes += self.more_changes()
        if (
            now >= self.deadline
            or not changes
            or any(target.answers_at_once for target in known)
            or sum(target.available for target in known) >= self.min_bytes
        ):
            return self.respond(targets, now)
        return Wait(self.deadline, changes, self.try_complete)

"""Fetch sessions (KIP-227): partitions that one broker remembers for a client, so that both send only changes.

A partition without news rests: a fetch does not look at it until its log changes, so a fetch of many partitions costs as much
as its active partitions.

Kafka spreads the sessions of a broker over eight caches; the mock has one with all the slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker.state.cluster import Cluster
from mockbroker.state.listener import ClusterListener
from mockbroker.state.waiting import Watchers

__all__ = [
    "FINAL_EPOCH",
    "FIRST_EPOCH",
    "FetchSession",
    "FetchSessionCache",
    "FetchSessionCaches",
    "PartitionKey",
    "next_epoch",
]

FIRST_EPOCH = 0
"""Epoch of a full request that begins a session."""
FINAL_EPOCH = -1
"""Epoch of a full request without a session, which ends the session that it names."""

_EVICTABLE_AFTER = 120.0
"""Seconds without use after which any session may be evicted; seconds of age after which a larger one may replace it."""
_LAST_EPOCH = 2**31 - 1

WantedPartition = FetchRequest.Topic.Partition
PartitionAnswer = FetchResponse.FetchableTopicResponse.PartitionData


class PartitionKey(NamedTuple):
    """Partition as requests name it: by topic name before version 13, by topic id since."""

    topic: str
    topic_id: bytes
    partition: int


def next_epoch(epoch: int) -> int:
    """Return the epoch of the request that follows one with this epoch."""
    return 1 if epoch == _LAST_EPOCH else epoch + 1


@dataclass(eq=False, slots=True)
class _Cached:
    """Partition of a session: the client's last request for it, and the last answer."""

    key: PartitionKey
    session: FetchSession
    wanted: WantedPartition
    place: int
    """Position in the order of the session."""
    high_watermark: int = -1
    log_start_offset: int = -1
    watched: Watchers | None = None
    """Watchers of its log, once it has rested."""

    def wake(self) -> None:
        """Make the partition active after a change of its log."""
        self.session.stir(self)

    def watch(self, changes: Watchers | None) -> None:
        """Wait for these changes, in place of those before."""
        if self.watched is not changes:
            if self.watched is not None:
                self.watched.remove(self)
            self.watched = changes
            if changes is not None:
                changes.add(self)

    def learn(self, answer: PartitionAnswer) -> bool:
        """Remember an answer. Returns True if it has news for the client."""
        new = (
            bool(answer.records)
            or answer.error_code != 0
            or answer.preferred_read_replica != -1
            or answer.diverging_epoch is not None
            or (self.high_watermark, self.log_start_offset) != (answer.high_watermark, answer.log_start_offset)
        )
        self.high_watermark = answer.high_watermark  # -1 with an error: the end of the error is news
        self.log_start_offset = answer.log_start_offset
        return new


class FetchSession:
    """Partitions of one session. One that brought records goes to the end, so that all get their turn."""

    __slots__ = ("_active", "_partitions", "_places", "begun", "by_topic_id", "changed", "epoch", "id", "used")

    def __init__(self, session_id: int, now: float, *, by_topic_id: bool) -> None:
        self.id = session_id
        self.epoch = next_epoch(FIRST_EPOCH)
        """Epoch that the next request must have."""
        self.by_topic_id = by_topic_id
        self.begun = self.used = now
        self.changed = Watchers()
        """Woken when a partition becomes active."""
        self._partitions: dict[PartitionKey, _Cached] = {}
        self._active: set[_Cached] = set()
        """Partitions that a fetch has to look at."""
        self._places = count()

    def __len__(self) -> int:
        return len(self._partitions)

    @property
    def rests(self) -> bool:
        """True if some partitions rest."""
        return len(self._active) < len(self._partitions)

    def wanted(self, *, resting: bool) -> list[tuple[PartitionKey, WantedPartition]]:
        """Active partitions with the client's last request for each; with `resting`, all partitions."""
        chosen = self._partitions.values() if resting else self._active
        return [(cached.key, cached.wanted) for cached in sorted(chosen, key=lambda cached: cached.place)]

    def update(self, changed: Iterable[tuple[PartitionKey, WantedPartition]], forgotten: Iterable[PartitionKey]) -> None:
        """Apply the changes of an incremental request."""
        for key, wanted in changed:
            cached = self._partitions.get(key)
            if cached is None:
                cached = self._partitions[key] = _Cached(key, self, wanted, next(self._places))
            cached.wanted = wanted
            self._active.add(cached)
        for key in forgotten:
            self._forget(key)

    def learn(self, key: PartitionKey, answer: PartitionAnswer) -> bool:
        """Remember an answer, whose partition becomes active. Returns True if it has news for the client."""
        cached = self._partitions[key]
        self._active.add(cached)
        new = cached.learn(answer)
        if answer.records:
            cached.place = next(self._places)
        return new

    def rest(self, key: PartitionKey, changes: Watchers) -> None:
        """Let a partition rest until one of these changes."""
        cached = self._partitions[key]
        cached.watch(changes)
        self._active.discard(cached)

    def stir(self, cached: _Cached) -> None:
        """Make a partition active."""
        self._active.add(cached)
        self.changed.wake()

    def end(self) -> None:
        """Remove all partitions."""
        for key in list(self._partitions):
            self._forget(key)

    def _forget(self, key: PartitionKey) -> None:
        cached = self._partitions.pop(key, None)
        if cached is not None:
            self._active.discard(cached)
            cached.watch(None)


class FetchSessionCache:
    """Fetch sessions of one broker.

    slots: most sessions at a time. numbers: their ids; all brokers of a cluster share them, so that a session id at the wrong
    broker is always unknown there.
    """

    __slots__ = ("_numbers", "_sessions", "_slots")

    def __init__(self, slots: int, numbers: Iterator[int]) -> None:
        self._slots = slots
        self._numbers = numbers
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, size: int, now: float, *, by_topic_id: bool) -> FetchSession | None:
        """Open a session for so many partitions. Returns None if there is no room for it."""
        if not self._make_room(size, now):
            return None
        session = FetchSession(next(self._numbers), now, by_topic_id=by_topic_id)
        self._sessions[session.id] = session
        return session

    def go_on(self, session_id: int, epoch: int, now: float, *, by_topic_id: bool) -> FetchSession | ErrorCode:
        """Find the session of an incremental request and use its epoch up. Returns the error if it cannot be served."""
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.by_topic_id != by_topic_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = next_epoch(epoch)
        session.used = now
        return session

    def close(self, session_id: int) -> None:
        """Delete a session. Does nothing if there is none."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.end()

    def clear(self) -> None:
        """Delete all sessions, since the broker stops."""
        for session_id in list(self._sessions):
            self.close(session_id)

    def _make_room(self, size: int, now: float) -> bool:
        if len(self._sessions) < self._slots:
            return True
        idle = min(self._sessions.values(), key=lambda session: session.used, default=None)
        if idle is None:
            return False
        if now - idle.used > _EVICTABLE_AFTER:
            self.close(idle.id)
            return True
        old = [session for session in self._sessions.values() if session.used - session.begun > _EVICTABLE_AFTER]
        smallest = min(old, key=len, default=None)
        if smallest is None or len(smallest) >= size:
            return False
        self.close(smallest.id)
        return True


class FetchSessionCaches(ClusterListener):
    """Fetch session caches of all brokers of a cluster, by broker id. A broker that stops loses its sessions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._caches: dict[int, FetchSessionCache] = {}
        self._session_ids = count(1)
        cluster.listeners.append(self)

    def __getitem__(self, broker_id: int) -> FetchSessionCache:
        cache = self._caches.get(broker_id)
        if cache is None:
            slots = int(self._cluster.config.get("max.incremental.fetch.session.cache.slots", 0))
            cache = self._caches[broker_id] = FetchSessionCache(slots, self._session_ids)
        return cache

    def broker_stopped(self, broker_id: int) -> None:
        self[broker_id].clear()

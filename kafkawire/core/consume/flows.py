"""Consuming: the calls of a consumer, and the flow that waits for records, positions and topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kafkawire.config import ConsumerOptions
from kafkawire.core.arguments import LAST_SIZE, check_range, check_timestamp
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.list_offsets import LATEST, Found, list_offsets
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.core.consume.collector import FetchCollector
from kafkawire.core.consume.deserialization import Deserializers, Messages
from kafkawire.core.consume.direct_fetch import DirectFetch
from kafkawire.core.consume.fetch_response import FetchResponseHandler
from kafkawire.core.consume.fetcher import Fetcher
from kafkawire.core.consume.position_lookup import PositionLookup
from kafkawire.core.consume.reports import Reports
from kafkawire.core.consume.subscription import Subscription, parse_start
from kafkawire.errors import ClosedError, ConfigurationError, KafkaError, NetworkError, TimedOut
from kafkawire.events import Event
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER

__all__ = ["ConsumerCore"]

T = TypeVar("T")

ERROR_WAITS = 1.0
"""Seconds for which an error of one partition waits for records of others: those may never end."""


class ConsumerCore:
    """Consumer behaviour, under the blocking and the asyncio Consumer alike. One caller at a time."""

    def __init__(self, client: ClusterClient, options: ConsumerOptions, topics: Sequence[str]) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self._signal = client.net.signal()
        self._closed = False
        self.collector = FetchCollector(client.net, options)
        """Records that are here: how those who wait for none take them."""
        self._reports = Reports()
        reset = options["auto_offset_reset"]
        self._subscription = Subscription(topics, reset, self.collector, self._reports, client.retry_backoff)
        self._fetcher = Fetcher(client, options, self._signal)
        self._responses = FetchResponseHandler(client, options, self._subscription, self.collector, self._reports)
        self._positions = PositionLookup(client, options)
        self._finding_topics = SingleFlight(client.net, self._find_topics, "kafkawire-topics")
        self._topics_error: tuple[set[str], KafkaError] | None = None
        """Topics that were not found, and why; written by that flow, taken by the caller's."""
        self._direct_fetch = DirectFetch(client, options)
        self._deserializers = Deserializers(options)

    # ---- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others; those that were read before keep their position."""
        self._check_open()
        wanted = list(partitions)
        for tp in wanted:
            self._client.metadata.want(tp.topic, create=False)
        self._subscription.assign(wanted)

    def assignment(self) -> set[TopicPartition]:
        """Partitions that are read."""
        return self._subscription.assignment()

    def seek(self, tp: TopicPartition, where: int | str) -> None:
        """Go on at an offset, at "earliest", "latest" or "tail:N"."""
        if isinstance(where, str):
            self.seek_each([tp], where)
            return
        check_range(f"seek {tp.topic} partition {tp.partition}: offset", where, 0)
        self._check_open()
        self._subscription.seek(tp, where)

    def seek_each(self, partitions: Iterable[TopicPartition], where: str) -> None:
        """Go on at "earliest", "latest" or "tail:N" in each of the partitions, or in none if one is not assigned."""
        start = parse_start(where)
        self._check_open()
        self._subscription.seek_each(partitions, start)

    def seek_all(self, where: str) -> None:
        """Go on at "earliest" or "latest" everywhere, also in what the topics turn out to have."""
        self._check_open()
        self._check_reading()
        self._subscription.seek_all(parse_start(where))

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of the partitions until `resume`; what was fetched of them is fetched again then."""
        self._check_open()
        self._subscription.pause(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with the partitions where they were paused."""
        self._check_open()
        self._subscription.resume(partitions)

    def paused(self) -> set[TopicPartition]:
        """Partitions that are paused."""
        return self._subscription.paused()

    def events(self) -> list[Event]:
        """Take the events since the last call; at most the newest thousand."""
        return self._reports.take_events()

    # ---- reading

    async def poll(self, deadline: float, take: Callable[[float], T]) -> T:
        """Wait for records: returns what `take` (given the deadline) finds once it finds anything, or at the deadline nothing.

        `take` is a function written in Python: CPython delivers interrupts after a call of anything else, as of a `partial`,
        and what that had found would be lost.

        Raises UnknownTopicError, OffsetOutOfRangeError, CorruptRecordsError, DeserializationError, BrokerError,
        BootstrapError while no broker has ever been reached, and ConfigurationError where there is nothing to read.
        """
        self._check_open()
        self._check_reading()
        self.collector.settle()
        while True:
            self._signal.clear()
            self._check_open()
            now = self._net.now()
            self._follow_topics()
            self._apply_positions(now)
            due = min(self._step(now), self._prepare(now))
            self._raise_error(now - ERROR_WAITS)
            taken = take(deadline)
            if taken:
                return taken
            self._raise_error()
            if now >= deadline:
                self._client.updater.check_reachable()
                return taken
            await self._net.wait(self._signal, min(due, deadline))

    async def read_ahead(self, ends: Mapping[TopicPartition, int] | None) -> bool:
        """Wait for records to iterate over; False when iteration ends: after consumer_timeout_ms, or at `ends`."""
        limit = self._options["consumer_timeout_ms"]
        deadline = NEVER if limit is None else self._net.now() + limit / 1000
        if self._at(ends):
            return False
        await self.poll(deadline, lambda until: self.collector.take_ahead(until) or self._at(ends))
        return self.collector.has_upcoming()

    async def iteration_ends(self) -> dict[TopicPartition, int] | None:
        """Find where iteration ends that begins now; None: it goes on."""
        if not self._options["stop_at_end"]:
            return None
        deadline = self._net.now() + self._options["default_api_timeout_ms"] / 1000
        self._check_reading()
        return await self.ends(await self._assigned(deadline), LATEST, deadline)

    async def fetch(self, tp: TopicPartition, offset: int, max_bytes: int, deadline: float) -> Messages:
        """Send one Fetch to the leader, beside and without the positions of this consumer."""
        check_range("offset", offset, 0)
        check_range("max_bytes", max_bytes, 1, LAST_SIZE)
        return self._deserializers.apply(await self._direct_fetch.fetch(tp, offset, max_bytes, deadline))

    def close(self) -> None:
        """Read nothing more. Idempotent."""
        self._closed = True
        self.collector.clear()
        self._fetcher.close()
        self._direct_fetch.close()

    # ---- positions

    async def position(self, tp: TopicPartition, deadline: float) -> int:
        """Offset of the next record to be handed out."""
        self._check_open()
        state = self._subscription.ensure_state(tp)
        self.collector.settle()
        while True:
            self._signal.clear()
            position = self.collector.position(state)
            if position is not None:
                return position
            self._follow_topics()
            self._apply_positions(self._net.now())
            due = 0.0 if state.position is not None else self._prepare(self._net.now())
            self._raise_error()
            if not await self._net.wait(self._signal, min(due, deadline)) and self._net.now() >= deadline:
                raise TimedOut(f"the position of {tp.topic} partition {tp.partition} could not be found in the time given")

    async def ends(self, partitions: Iterable[TopicPartition], which: int, deadline: float) -> dict[TopicPartition, int]:
        """Ask for the first (EARLIEST) or next (LATEST) offset of each partition."""
        found = await list_offsets(self._client, dict.fromkeys(partitions, which), deadline)
        return {tp: answer.offset if answer is not None else 0 for tp, answer in found.items()}

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int], deadline: float
    ) -> dict[TopicPartition, Found | None]:
        """Ask for the first offset at or after a time (ms) in each partition; None where there is none."""
        for time in times.values():
            check_timestamp(time)
        return await list_offsets(self._client, times, deadline)

    async def lag(self, deadline: float) -> dict[TopicPartition, int]:
        """Count the offsets of each assigned partition that have not been handed out."""
        ends = await self.ends(await self._assigned(deadline), LATEST, deadline)
        return {tp: end - await self.position(tp, deadline) for tp, end in ends.items()}

    def _at(self, ends: Mapping[TopicPartition, int] | None) -> bool:
        """True if everything before `ends` was handed out, but for what is paused: nobody could resume it meanwhile."""
        if ends is None:
            return False
        self.collector.settle()
        states = [(self._subscription.get(tp), end) for tp, end in ends.items()]
        positions = [(self.collector.position(state), end) for state, end in states if state is not None and not state.paused]
        return all(position is not None and position >= end for position, end in positions)

    # ---- one step

    def _step(self, now: float) -> float:
        """Apply the fetches that are complete and send the next ones; returns when to come again."""
        for fetch in self._fetcher.completed(now):
            self._responses.apply(fetch, now)
        due = NEVER
        if not self.collector.is_full():
            snapshot = self._client.metadata.snapshot
            self._subscription.match_topics(snapshot, now)
            due = self._fetcher.send(snapshot, self._subscription.fetch_targets(snapshot, now), now)
        return min(due, self._fetcher.times_out_at())

    def _prepare(self, now: float) -> float:
        """Start looking up what fetches need, positions and metadata; returns when to come again."""
        states = self._subscription.states()
        if self._subscription.topics_known and any(state.position is None and state.retry_at <= now for state in states):
            self._positions.start(states, self._signal)
        return min(self._client.updater.keep_fresh(self._signal), self._subscription.retry_at(now))

    def _apply_positions(self, now: float) -> None:
        """Begin at the positions that were looked up; back off where there are none."""
        for found in self._positions.found():
            if isinstance(found.offset, int):
                found.state.found(found.offset, found.topic_id)
                continue
            found.state.back_off(now, self._client.retry_backoff)
            if not self._is_being_retried(found.offset):
                self._reports.add_error(found.state, found.offset, now)

    def _follow_topics(self) -> bool:
        """Assign the partitions that the topics have; False if some topic is not known yet: it is being looked for."""
        known = self._subscription.follow(self._client.metadata.snapshot)
        if not known:
            self._finding_topics.start(self._signal)
        return known

    async def _assigned(self, deadline: float) -> set[TopicPartition]:
        """Wait until the topics are known; returns the partitions that are read."""
        self._check_open()
        await self._know_topics(self._subscription.topic_names(), deadline)
        while not self._follow_topics():
            await self._know_topics(self._subscription.topic_names(), deadline)
        return self.assignment()

    async def _find_topics(self) -> None:
        """Look for the topics, in a flow of its own."""
        names = self._subscription.topic_names()
        deadline = self._net.now() + self._options["default_api_timeout_ms"] / 1000
        try:
            await self._know_topics(names, deadline)
        except KafkaError as error:
            self._topics_error = names, error

    async def _know_topics(self, names: Iterable[str], deadline: float) -> None:
        for name in names:
            await self._client.router.topic(name, deadline, create=self._options["allow_auto_create_topics"])

    # ---- errors

    def _raise_error(self, until: float = NEVER) -> None:
        """Raise the oldest error of a partition that came until then, or why the topics were not found."""
        error = self._reports.take_error(until)
        if error is not None:
            raise error
        failure, self._topics_error = self._topics_error, None
        if failure is not None and failure[0] == self._subscription.topic_names() and not self._is_being_retried(failure[1]):
            raise failure[1]

    def _is_being_retried(self, error: KafkaError) -> bool:
        """True if the caller need not hear of an error: what failed is tried again, and the caller's deadline will come."""
        return isinstance(error, TimedOut) or (isinstance(error, NetworkError) and bool(self._client.metadata.snapshot.brokers))

    def _check_reading(self) -> None:
        if self._subscription.is_empty():
            raise ConfigurationError(
                "there is nothing to read: name topics, as in Consumer('topic', ...), or call assign([('topic', 0)])"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the consumer is closed: make a new one")

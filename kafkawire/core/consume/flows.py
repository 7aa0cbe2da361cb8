"""Consuming as flows: positions that must be found, records that must be waited for, and calls that are one round trip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kafkawire.config import ConsumerOptions
from kafkawire.core.arguments import LAST_SIZE, check_range, check_timestamp
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST, Found, list_offsets
from kafkawire.core.cluster.metadata import check_partitions
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.core.consume.buffer import Buffer, FetchedRecords
from kafkawire.core.consume.direct_fetch import OneFetch
from kafkawire.core.consume.fetch_request import located
from kafkawire.core.consume.fetcher import Fetcher
from kafkawire.core.consume.positions import Positions
from kafkawire.core.consume.subscription import PartitionState, parse_start
from kafkawire.errors import (
    ClosedError,
    ConfigurationError,
    DeserializationError,
    KafkaError,
    NetworkError,
    TimedOut,
)
from kafkawire.events import Event
from kafkawire.message import Message, TopicPartition
from kafkawire.net.base import NEVER
from kafkawire.protocol.records import SLICE_BYTES, RecordColumns, to_arrow

__all__ = ["ConsumerCore"]

T = TypeVar("T")
Messages = list[Message[Any, Any]]
"""Records whose keys and values are bytes, or what the deserializers made of them."""
ARROW_ROWS = 10_000
"""Rows below which poll_arrow looks for more segments to put into one batch."""

ERROR_WAITS = 1.0
"""Seconds for which an error of one partition waits for records of others: those may never end."""


class ConsumerCore:
    """Consumer behaviour, under the blocking and the asyncio Consumer alike. One caller at a time."""

    def __init__(self, client: ClusterClient, options: ConsumerOptions, topics: Sequence[str]) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self._signal = client.net.signal()
        self._fetcher = Fetcher(client, options, self._signal)
        self._topics = list(topics)
        self._snapshot: object = None
        """The metadata that the assignment was made of; None before the topics are known."""
        self._named: dict[TopicPartition, PartitionState] = {}
        """Partitions that were sought or paused before their topics were known."""
        self._finding_topics = SingleFlight(client.net, self._find_topics, "kafkawire-topics")
        self._topics_error: tuple[set[str], KafkaError] | None = None
        """Why some topics were not found."""
        self._positions = Positions(client, options)
        self._closed = False
        self._reset = parse_start(options["auto_offset_reset"])
        self._first_start = self._reset
        """Where the partitions begin that the topics are found to have."""
        self._one_fetch = OneFetch(client, options)
        self.ahead: Messages = []
        """What iteration hands out; it leaves the buffer only in `_settle`."""
        self.ahead_at = 0

    # ---- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others; those that were read before keep their position."""
        self._check_open()
        self._replace(partitions, self._reset)
        self._topics = []
        self._snapshot = None
        self._named = {}

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read."""
        return set(self._fetcher.states)

    def seek(self, tp: TopicPartition, where: int | str) -> None:
        """Go on at an offset, at "earliest", "latest" or "tail:N"."""
        if isinstance(where, str):
            self.seek_each([tp], where)
            return
        check_range(f"seek {tp.topic} partition {tp.partition}: offset", where, 0)
        state = self._state(tp)
        self._settle()
        state.seek(where, where)

    def seek_each(self, partitions: Iterable[TopicPartition], where: str) -> None:
        """Go on at "earliest", "latest" or "tail:N" in each of the partitions, or in none if one is not assigned."""
        start = parse_start(where)
        states = [self._state(tp) for tp in partitions]
        self._settle()
        for state in states:
            state.seek(None, start)

    def seek_all(self, where: str) -> None:
        """Go on at "earliest" or "latest" everywhere, also in what the topics turn out to have."""
        self._check_open()
        self._check_reading()
        self._first_start = parse_start(where)
        self.seek_each([*self._fetcher.states, *self._named], where)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of the partitions until `resume`; what was fetched of them is fetched again then."""
        for state in [self._state(tp) for tp in partitions]:
            if not state.paused:
                state.position = self._position(state)
                state.epoch += 1
                state.paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with the partitions where they were paused."""
        for state in [self._state(tp) for tp in partitions]:
            state.paused = False

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return {tp for tp, state in [*self._fetcher.states.items(), *self._named.items()] if state.paused}

    def events(self) -> list[Event]:
        """Events since the last call; at most the newest thousand."""
        events = self._fetcher.events
        return [events.popleft() for _ in range(len(events))]

    # ---- reading without waiting

    def take(self, most: int, deadline: float) -> Messages:
        """Up to `most` records that are here already; fewer where decoding more would go past the deadline."""
        self._settle()
        chunk, left = self._take(most, deadline)
        self._fetcher.buffer = left
        return chunk

    def take_ahead(self, deadline: float) -> bool:
        """Make `ahead` of records that are here already; False if there are none."""
        self._settle()
        chunk, left = self._take(self._options["max_poll_records"], deadline)
        if not chunk:
            self._fetcher.buffer = left
            return False
        self.ahead_at = 0
        self.ahead = chunk
        return True

    def _take(self, most: int, deadline: float) -> tuple[Messages, Buffer]:
        """Up to `most` records, and what is left after them.

        Nothing is handed out before the caller stores what is left, and it does nothing after that which an interrupt could
        come into: so no record is lost or returned twice.
        """
        rows, index, row = self._select(most, most, deadline)
        chunk: Messages = []
        for segment, first, end in rows:
            chunk += segment.messages()[first:end]
        try:
            chunk = self._deserialize(chunk)
        except DeserializationError as error:
            good = chunk.index(error.message)
            if good == 0:
                raise
            return self._take(good, deadline)
        return chunk, self._leave(index, row)

    def _select(self, most: int, enough: int, deadline: float) -> tuple[list[tuple[FetchedRecords, int, int]], int, int]:
        """The next rows, as (segment, first row, end row), and the piece and row behind them.

        Up to `most` rows, and no other piece once there are `enough`, or fetch_max_bytes of them, or if time is up: answers
        are no larger, but what they unpack to is. What is damaged, or cannot be unpacked here, raises once it comes first.
        """
        buffer = self._fetcher.buffer
        found: list[tuple[FetchedRecords, int, int]] = []
        count, size, decoded = 0, 0, 0
        index, row = 0, buffer.row
        while index < len(buffer.pieces) and count < min(most, enough) and size < self._options["fetch_max_bytes"]:
            piece = buffer.pieces[index]
            if piece.stale:
                index, row = index + 1, 0
            elif isinstance(piece, FetchedRecords):
                end = min(piece.columns.count, row + most - count)
                if end > row:
                    found.append((piece, row, end))
                    count += end - row
                    size += piece.size
                if end < piece.columns.count:
                    return found, index, end
                index, row = index + 1, 0
            elif decoded > SLICE_BYTES and self._net.now() >= deadline:
                break
            else:
                try:
                    opened = piece.opened()
                except KafkaError as error:
                    if found:
                        break
                    raise located(error, piece.state.tp, piece.start) from None
                decoded += opened[0].size
                self._fetcher.buffer = buffer = buffer.replaced(index, opened)
        return found, index, row

    def _leave(self, index: int, row: int) -> Buffer:
        """The buffer from a row of a piece on."""
        buffer = self._fetcher.buffer
        for piece in buffer.pieces[:index]:
            if not piece.stale:
                piece.state.position = piece.next_offset
        return buffer.after(index, row)

    def _settle(self) -> None:
        """Take off the buffer what iteration has handed out, so that every other call finds things as they are."""
        if self.ahead:
            _, index, row = self._select(self.ahead_at, self.ahead_at, NEVER)
            left = self._leave(index, row)
            self.ahead_at = 0
            self.ahead = []
            self._fetcher.buffer = left

    def take_arrow(self, most: int, headers: bool, deadline: float) -> Any:
        """Up to `most` records that are here already, as a pyarrow.RecordBatch; None for none."""
        self._settle()
        rows, index, row = self._select(most, ARROW_ROWS, deadline)
        pieces = []
        for segment, first, end in rows:
            columns = segment.columns
            pieces.append((columns if end - first == columns.count else columns.slice(first, end), segment.state.tp))
        made = arrow_batch(pieces, headers)
        left = self._leave(index, row)
        self._fetcher.buffer = left
        return made

    def _deserialize(self, chunk: Messages) -> Messages:
        of_key, of_value = self._options["key_deserializer"], self._options["value_deserializer"]
        if of_key is None and of_value is None:
            return chunk
        return [_deserialized(message, of_key, of_value) for message in chunk]

    # ---- reading

    async def poll(self, deadline: float, take: Callable[[float], T]) -> T:
        """What `take` finds (given the deadline) as soon as it finds anything, or at the deadline nothing.

        `take` is a function written in Python: CPython delivers interrupts after a call of anything else, as of a `partial`,
        and what that had found would be lost.

        Raises UnknownTopicError, OffsetOutOfRangeError, CorruptRecordsError, DeserializationError, BrokerError,
        BootstrapError while no broker has ever been reached, and ConfigurationError where there is nothing to read.
        """
        self._check_open()
        self._check_reading()
        while True:
            self._signal.clear()
            self._check_open()
            now = self._net.now()
            self._follow_topics()
            self._take_positions(now)
            due = min(self._fetcher.step(now), self._prepare(now))
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
        return await self.poll(deadline, lambda until: self.take_ahead(until) or self._at(ends)) and bool(self.ahead)

    async def iteration_ends(self) -> dict[TopicPartition, int] | None:
        """Where iteration ends that begins now; None: it goes on."""
        if not self._options["stop_at_end"]:
            return None
        deadline = self._net.now() + self._options["default_api_timeout_ms"] / 1000
        self._check_reading()
        return await self.ends(await self._assigned(deadline), LATEST, deadline)

    async def fetch(self, tp: TopicPartition, offset: int, max_bytes: int, deadline: float) -> Messages:
        """One Fetch from the leader, beside and without the positions of this consumer."""
        check_range("offset", offset, 0)
        check_range("max_bytes", max_bytes, 1, LAST_SIZE)
        return self._deserialize(await self._one_fetch.fetch(tp, offset, max_bytes, deadline))

    # ---- positions

    async def position(self, tp: TopicPartition, deadline: float) -> int:
        """The offset of the next record to be handed out."""
        state = self._state(tp)
        while True:
            self._signal.clear()
            position = self._position(state)
            if position is not None:
                return position
            self._follow_topics()
            self._take_positions(self._net.now())
            due = 0.0 if state.position is not None else self._prepare(self._net.now())
            self._raise_error()
            if not await self._net.wait(self._signal, min(due, deadline)) and self._net.now() >= deadline:
                raise TimedOut(f"the position of {tp.topic} partition {tp.partition} could not be found in the time given")

    async def ends(self, partitions: Iterable[TopicPartition], which: int, deadline: float) -> dict[TopicPartition, int]:
        """The first (EARLIEST) or next (LATEST) offset of each partition."""
        found = await list_offsets(self._client, dict.fromkeys(partitions, which), deadline)
        return {tp: answer.offset if answer is not None else 0 for tp, answer in found.items()}

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int], deadline: float
    ) -> dict[TopicPartition, Found | None]:
        """The first offset at or after a time (ms) in each partition; None where there is none."""
        for time in times.values():
            check_timestamp(time)
        return await list_offsets(self._client, times, deadline)

    async def lag(self, deadline: float) -> dict[TopicPartition, int]:
        """How many offsets of each assigned partition have not been handed out."""
        ends = await self.ends(await self._assigned(deadline), LATEST, deadline)
        return {tp: end - await self.position(tp, deadline) for tp, end in ends.items()}

    def _at(self, ends: Mapping[TopicPartition, int] | None) -> bool:
        """Whether everything before `ends` has been handed out, but for what is paused: nobody could resume it meanwhile."""
        if ends is None:
            return False
        states = self._fetcher.states
        positions = {tp: self._position(states[tp]) for tp in ends if tp in states and not states[tp].paused}
        return all(position is not None and position >= ends[tp] for tp, position in positions.items())

    def _position(self, state: PartitionState) -> int | None:
        self._settle()
        return self._fetcher.buffer.position(state)

    def close(self) -> None:
        """Read nothing more. Idempotent."""
        self._closed = True
        self.ahead_at = 0
        self.ahead = []
        self._fetcher.close()
        self._one_fetch.close()

    # ---- beside the fetches

    def _follow_topics(self) -> bool:
        """Assign all partitions of the topics given to the constructor, those too that they get later.

        False if some topic is not known yet: it is being looked for.
        """
        snapshot = self._client.metadata.snapshot
        if snapshot is self._snapshot:
            return True
        if any(name not in snapshot.topics for name in self._topic_names()):
            self._finding_topics.start(self._signal)
            return False
        partitions = [TopicPartition(name, index) for name in self._topics for index in snapshot.topics[name].partitions]
        if partitions:
            # A partition that a topic gets while it is read has nothing from before: it is read from its beginning.
            self._replace(partitions, self._first_start if self._snapshot is None else EARLIEST)
        self._snapshot = snapshot
        named, self._named = self._named, {}
        for topic in snapshot.topics.values():
            check_partitions(named, topic)
        return True

    async def _assigned(self, deadline: float) -> set[TopicPartition]:
        """The partitions that are read, once the topics are known."""
        self._check_open()
        await self._know_topics(self._topic_names(), deadline)
        while not self._follow_topics():
            await self._know_topics(self._topic_names(), deadline)
        return self.assignment()

    def _topic_names(self) -> set[str]:
        return set(self._topics) or {tp.topic for tp in self._fetcher.states}

    async def _find_topics(self) -> None:
        names = self._topic_names()
        deadline = self._net.now() + self._options["default_api_timeout_ms"] / 1000
        try:
            await self._know_topics(names, deadline)
        except KafkaError as error:
            self._topics_error = names, error

    async def _know_topics(self, names: Iterable[str], deadline: float) -> None:
        for name in names:
            await self._client.router.topic(name, deadline, create=self._options["allow_auto_create_topics"])

    def _replace(self, partitions: Iterable[TopicPartition], start: int | str) -> None:
        states = {**self._named, **self._fetcher.states}
        wanted = dict.fromkeys(partitions)
        for tp in wanted:
            self._client.metadata.want(tp.topic, create=False)
        for tp, state in states.items():
            if tp not in wanted:
                state.epoch += 1
        self._settle()
        self._fetcher.states = {tp: states.get(tp) or PartitionState(tp, start) for tp in wanted}

    def _prepare(self, now: float) -> float:
        """Start what positions and leaders need; returns when to look again."""
        states = self._fetcher.states.values()
        if self._snapshot is not None and any(state.position is None and state.retry_at <= now for state in states):
            self._positions.find(states, self._signal)
        retries = [state.retry_at for state in states if state.retry_at > now]
        return min([self._client.updater.keep_fresh(self._signal), *retries])

    def _take_positions(self, now: float) -> None:
        """Use what has been found, unless it was for a partition that has been sought or taken away since."""
        while self._positions.found:
            state, epoch, found, topic_id = self._positions.found.popleft()
            if state.epoch != epoch:
                continue
            if isinstance(found, int):
                state.topic_id = topic_id
                state.position = found
                state.lost = False
                continue
            self._fetcher.pause(state, now)
            if not self._passes(found):
                self._fetcher.report(state, found)

    def _raise_error(self, until: float = NEVER) -> None:
        """Raise what has gone wrong up to then."""
        error = self._fetcher.take_error(until)
        if error is not None:
            raise error
        failure, self._topics_error = self._topics_error, None
        if failure is not None and failure[0] == self._topic_names() and not self._passes(failure[1]):
            raise failure[1]

    def _passes(self, error: KafkaError) -> bool:
        """Whether it is being tried again, and no news: a caller that has a deadline will come to it."""
        return isinstance(error, TimedOut) or (isinstance(error, NetworkError) and bool(self._client.metadata.snapshot.brokers))

    def _state(self, tp: TopicPartition) -> PartitionState:
        self._check_open()
        state = self._fetcher.states.get(tp) or self._named.get(tp)
        if state is None and self._snapshot is None and tp.topic in self._topics:
            state = self._named[tp] = PartitionState(tp, self._first_start)
        if state is None:
            raise ConfigurationError(
                f"{tp.topic} partition {tp.partition} is not assigned: assigned are {sorted(self.assignment())}"
            )
        return state

    def _check_reading(self) -> None:
        if not self._topics and not self._fetcher.states:
            raise ConfigurationError(
                "there is nothing to read: name topics, as in Consumer('topic', ...), or call assign([('topic', 0)])"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the consumer is closed: make a new one")


def arrow_batch(pieces: list[tuple[RecordColumns, TopicPartition]], headers: bool) -> Any:
    """One pyarrow.RecordBatch of some columns; None for none of them."""
    made = [to_arrow(columns, *tp, headers=headers) for columns, tp in pieces]
    if len(made) <= 1:
        return made[0] if made else None
    import pyarrow as pa

    return pa.Table.from_batches(made).combine_chunks().to_batches()[0]


def _deserialized(
    message: Message, of_key: Callable[[bytes], Any] | None, of_value: Callable[[bytes], Any] | None
) -> Message[Any, Any]:
    try:
        key = message.key if of_key is None or message.key is None else of_key(message.key)
        value = message.value if of_value is None or message.value is None else of_value(message.value)
    except Exception as error:
        raise DeserializationError(message, error) from error
    return message._replace(key=key, value=value)

"""Which fetches to send, and what their answers mean. Steps never wait; `core.consumer` does."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.link_slots import LinkRole
from kafkawire.core.cluster.metadata import Snapshot, Topic
from kafkawire.core.consume.buffer import Buffer, Packed, Piece
from kafkawire.core.consume.fetch_request import FetchSettings, build_request, located, partition_answers
from kafkawire.core.consume.subscription import PartitionState, parse_start
from kafkawire.errors import (
    BrokerError,
    CorruptRecordsError,
    DecodeError,
    ErrorCode,
    KafkaError,
    NetworkError,
    OffsetOutOfRangeError,
    OwnLimitError,
    RequestTimedOut,
    broker_error,
)
from kafkawire.events import Event, PositionReset, TopicRecreated
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER, Pending, Signal
from kafkawire.protocol.frames import decode_response
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkawire.protocol.records import RecordBatch, read_batches

__all__ = ["Fetcher"]

log = logging.getLogger("kafkawire.consumer")

PACKED_BYTES = 1 << 20
"""Encoded bytes in one piece of the buffer: enough that small batches cost little, not so many that memory suffers."""
WHOLE_BATCHES = 3
"""From this Fetch version on a broker answers at least one whole batch, whatever its size (trap 41)."""


CHECKS_EPOCHS = 9
"""From this Fetch version on a leader answers only who knows its epoch (KIP-320)."""
UNREADABLE_FOR_GOOD = 5
"""Answers in a row, over about a second and a half, that bring nothing but an error before the caller hears of it."""
MOST_EVENTS = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """One partition in a Fetch: its state, of which epoch, from where on, and the leader epoch that was named."""

    state: PartitionState
    epoch: int
    offset: int
    leader_epoch: int

    def __str__(self) -> str:
        return f"{self.state.tp.topic} partition {self.state.tp.partition} at offset {self.offset}"


@dataclass(frozen=True, slots=True)
class Reported:
    """An error, the epoch of the partition that it is about, and when it came."""

    error: KafkaError
    epoch: int
    at: float


@dataclass(eq=False, slots=True)
class InFlight:
    """One Fetch that is not answered yet."""

    pending: Pending
    link: BrokerLink
    version: int
    sent_at: float
    asked: dict[TopicPartition, Asked]
    names: dict[bytes, str]


class Fetcher:
    """Keeps one Fetch in flight to each leader, the next one being on its way while the last is decoded."""

    def __init__(self, client: ClusterClient, options: ConsumerOptions, signal: Signal) -> None:
        self._client = client
        self._options = options
        self._settings = FetchSettings.of(options)
        self._signal = signal
        self._timeout = (options["request_timeout_ms"] + options["fetch_max_wait_ms"]) / 1000
        self._in_flight: dict[int, InFlight] = {}
        self._role = LinkRole("fetch")
        self.states: dict[TopicPartition, PartitionState] = {}
        self.buffer = Buffer()
        self._turns: dict[int, int] = {}
        self._errors: dict[PartitionState, Reported] = {}
        """Errors for the caller of poll."""
        self._reset = parse_start(options["auto_offset_reset"])
        self._topic_ids: dict[str, bytes] = {}
        """The ids of topics whose creation anew has been noted."""
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)
        """Events for the caller, who takes them; appended to here only."""

    def step(self, now: float) -> float:
        """Take in answers, send the fetches that can be sent; returns when to come again."""
        due = self._reap(now)
        if self.buffer.size() >= self._settings.max_bytes:
            return due
        snapshot = self._client.metadata.snapshot
        for node, wanted in self._fetchable(snapshot, now).items():
            try:
                link = self._client.links.link_or_connect(node, self._role, self._signal)
            except NetworkError:
                self._client.metadata.suspect()
                continue
            if not isinstance(link, BrokerLink):
                due = min(due, link)
            elif link.muted_until > now:
                due = min(due, link.muted_until)
            else:
                self._send(snapshot, node, link, wanted, now)
                due = min(due, now + self._timeout)
        retries = [state.retry_at for state in self.states.values() if state.retry_at > now]
        return min([due, *retries])

    def close(self) -> None:
        """Close the links, and forget what was fetched."""
        self._in_flight.clear()
        self.buffer = Buffer()
        self._client.links.release(self._role)

    def report(self, state: PartitionState, error: KafkaError) -> None:
        """Let the caller of poll know, unless the partition is sought before."""
        self._errors[state] = Reported(error, state.epoch, self._client.net.now())

    def take_error(self, until: float) -> KafkaError | None:
        """Take the oldest error that was reported until then and still holds."""
        for state, reported in list(self._errors.items()):
            if state.epoch != reported.epoch or reported.at <= until:
                del self._errors[state]
            if state.epoch == reported.epoch and reported.at <= until:
                return reported.error
        return None

    def pause(self, state: PartitionState, now: float) -> None:
        """Leave a partition alone for a while, longer after every failure."""
        state.failures += 1
        state.retry_at = now + self._client.retry_backoff.delay(state.failures)

    def note(self, event: Event) -> None:
        """Keep an event for the caller, and log it."""
        log.warning("%s", event)
        self.events.append(event)

    # ---- sending

    def _fetchable(self, snapshot: Snapshot, now: float) -> dict[int, list[Asked]]:
        """Partitions that can be fetched, by leader."""
        groups: dict[int, list[Asked]] = {}
        for state in self.states.values():
            offset = self.buffer.end(state)
            if state.paused or offset is None or state.retry_at > now:
                continue
            topic = snapshot.topics.get(state.tp.topic)
            if topic is not None and state.is_of_another(topic.topic_id):
                if not self.buffer.holds(state):  # what was fetched of the old one is handed out first
                    self._note_recreated(topic)
                    self._lose_position(Asked(state, state.epoch, offset, -1), "its topic was deleted and created again", now)
                continue
            partition = None if topic is None else topic.partitions.get(state.tp.partition)
            if topic is None or partition is None or partition.leader is None:
                self._client.metadata.suspect()
            elif partition.leader not in self._in_flight:
                if not state.topic_id_known:
                    state.topic_id = topic.topic_id
                wanted = groups.setdefault(partition.leader, [])
                wanted.append(Asked(state, state.epoch, offset, partition.leader_epoch))
        return groups

    def _send(self, snapshot: Snapshot, node: int, link: BrokerLink, wanted: list[Asked], now: float) -> None:
        turn = self._turns[node] = self._turns.get(node, -1) + 1
        suspects = [each for each in wanted if each.state.unreadable]
        healthy = [each for each in wanted if not each.state.unreadable]
        if suspects and (not healthy or turn % 2):
            # Each by itself, so that it shows which of them makes the answers unreadable, and at once.
            chosen = [suspects[turn // 2 % len(suspects)]]
            settings = replace(self._settings, max_wait_ms=0)
        else:
            # Another partition comes first every time, so that none starves the others (trap 99).
            first = (turn // 2 if suspects else turn) % len(healthy)
            chosen = healthy[first:] + healthy[:first]
            settings = self._settings
        asked = {each.state.tp: each for each in chosen}
        offsets = [(tp, each.offset) for tp, each in asked.items()]
        request, version, names = build_request(snapshot, link, offsets, settings)
        pending = link.send(request, version, self._signal)
        self._in_flight[node] = InFlight(pending, link, version, now, asked, names)

    # ---- answers

    def _reap(self, now: float) -> float:
        due = NEVER
        for node, request in list(self._in_flight.items()):
            if not request.pending.done:
                if request.sent_at + self._timeout > now:
                    due = min(due, request.sent_at + self._timeout)
                    continue
                late = RequestTimedOut(f"{request.link.address} did not answer Fetch in {self._timeout:g} s")
                request.link.link.fail(late)
            self._apply(request, now)
            del self._in_flight[node]
        return due

    def _apply(self, request: InFlight, now: float) -> None:
        try:
            frame = request.pending.result()
            response: FetchResponse = decode_response(FetchResponse, request.version, frame)
            if response.error_code:
                raise broker_error(response.error_code, f"Fetch from {request.link.address}")
        except KafkaError as error:
            self._failed(request.link, request.asked.values(), error, now)
            return
        request.link.note_throttle(response, FetchRequest, request.version, now)
        answers = dict(partition_answers(response, request.names))
        missing = [asked for tp, asked in request.asked.items() if tp not in answers]
        if missing:
            silent = DecodeError("the answer is silent on a partition that was asked for", api="Fetch", version=request.version)
            self._failed(request.link, missing, silent, now)
        pieces: list[Piece] = []
        for tp, asked in request.asked.items():
            answer = answers.get(tp)
            # While a leader moves both may be asked for the same offset, and an interrupted step takes an answer in again.
            if answer is None or asked.state.epoch != asked.epoch or self.buffer.end(asked.state) != asked.offset:
                continue
            state = asked.state
            state.unreadable = 0
            if answer.error_code:
                self._refused(asked, answer.error_code, now)
                continue
            if request.version >= CHECKS_EPOCHS and not state.topic_id_known:
                if asked.leader_epoch < state.leader_epoch:
                    self._epoch_went_back(asked, now)
                    continue
                state.leader_epoch = asked.leader_epoch
            state.end = answer.high_watermark
            state.log_start = answer.log_start_offset if answer.log_start_offset >= 0 else None
            state.failures = 0
            pieces += self._pieces(asked, answer.records, request.version)
        self.buffer = self.buffer.add(pieces)

    def _failed(self, link: BrokerLink, partitions: Iterable[Asked], error: KafkaError, now: float) -> None:
        """No answer, or one that is of no use for these partitions."""
        if isinstance(error, DecodeError):
            link.link.fail(error)
        log.warning("fetch from %s: %s", link.address, error)
        self._client.metadata.suspect()
        passes = error.retriable and not isinstance(error, DecodeError)
        for asked in partitions:
            state = asked.state
            self.pause(state, now)
            if passes or state.epoch != asked.epoch:
                continue
            state.unreadable += 1
            if state.unreadable >= UNREADABLE_FOR_GOOD:
                self.report(state, _unreadable(error, asked, link))

    def _pieces(self, asked: Asked, records: memoryview | None, version: int) -> list[Piece]:
        if not records:
            return []
        state, offset = asked.state, asked.offset
        batches: list[RecordBatch] = []
        error: KafkaError | None = None
        try:
            batches.extend(read_batches(records, check_crcs=self._options["check_crcs"]))
        except CorruptRecordsError as failure:
            error = located(failure, state.tp, batches[-1].next_offset if batches else offset)
        news = list(_forward(batches, offset))
        if error is None and not news:
            error = self._too_large(asked, len(records), version) if not batches else _nothing_new(asked)
        if error is not None and not news and not self.buffer.holds(state):
            self.report(state, error)
            self.pause(state, self._client.net.now())
        return list(_group(state, offset, news, self._options["max_decompressed_bytes"]))

    def _too_large(self, asked: Asked, size: int, version: int) -> KafkaError:
        """Part of a batch and nothing else (trap 41)."""
        if version >= WHOLE_BATCHES:
            return CorruptRecordsError(f"{asked}: {size} bytes that hold no whole batch")
        return OwnLimitError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{asked}: the next message is larger than max_partition_fetch_bytes={self._settings.partition_bytes}: raise it",
        )

    def _refused(self, asked: Asked, error_code: int, now: float) -> None:
        state, code = asked.state, ErrorCode.of(error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if self.buffer.position(state) == asked.offset:  # or the position has moved on since (trap 101)
                self._lose_position(asked, "the partition does not have that offset", now)
            return
        # The metadata is older, or so new that the leader has not heard of it; or of a topic that is gone.
        if code.refresh_metadata:
            self._client.metadata.suspect()
        if not code.retriable:
            self.report(state, broker_error(error_code, f"Fetch of {asked}"))
        self.pause(state, now)

    def _note_recreated(self, topic: Topic) -> None:
        if self._topic_ids.get(topic.name) != topic.topic_id:
            self._topic_ids[topic.name] = topic.topic_id
            self.note(TopicRecreated(topic.name))

    def _epoch_went_back(self, asked: Asked, now: float) -> None:
        """A leader has confirmed an older epoch than one before: without topic ids nothing else tells of a new topic."""
        if not self.buffer.holds(asked.state):
            epochs = f"from {asked.state.leader_epoch} to {asked.leader_epoch}"
            self._lose_position(asked, f"the leader epoch went back {epochs}, as where a topic is created again", now)

    def _lose_position(self, asked: Asked, reason: str, now: float) -> None:
        """Go where auto_offset_reset says; 'none' leaves that to the caller, who is told until there is a seek."""
        state, start = asked.state, self._options["auto_offset_reset"]
        if start == "none":
            text = f"{asked}: {reason}, and auto_offset_reset is 'none': seek to an offset that exists"
            self.report(state, OffsetOutOfRangeError(ErrorCode.OFFSET_OUT_OF_RANGE, text))
        else:
            self.note(PositionReset(state.tp.topic, state.tp.partition, asked.offset, start, reason))
            failures = state.failures
            state.seek(None, self._reset)
            state.failures = failures  # who names the next position and who refuses it may go on to disagree
        self.pause(state, now)
        state.lost = True


def _unreadable(error: KafkaError, asked: Asked, link: BrokerLink) -> KafkaError:
    """The error for the caller after answers that repeat an error."""
    where = f"{asked}: {asked.state.unreadable} answers to Fetch in a row from {link.address}"
    if isinstance(error, BrokerError):
        return broker_error(error.code, where)
    advice = "seek past it to go on, or go on polling to try again"
    return CorruptRecordsError(f"{where} cannot be read, the last since: {error}; {advice}")


def _nothing_new(asked: Asked) -> KafkaError:
    return CorruptRecordsError(f"{asked}: the answer holds nothing but records before that")


def _forward(batches: Iterable[RecordBatch], offset: int) -> Iterator[RecordBatch]:
    """Those that hold offsets from `offset` on which none before them holds: a batch that comes twice is read once."""
    for batch in batches:
        if batch.next_offset > offset:
            offset = batch.next_offset
            yield batch


def _group(state: PartitionState, offset: int, batches: list[RecordBatch], limit: int) -> Iterator[Packed]:
    start, size, held = offset, 0, []
    for batch in batches:
        held.append(batch)
        size += batch.size
        if size >= PACKED_BYTES:
            yield Packed.of(state, start, held, limit)
            start, size, held = batch.next_offset, 0, []
    if held:
        yield Packed.of(state, start, held, limit)

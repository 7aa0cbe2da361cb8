"""Which fetches to send, and what their answers mean. Steps never wait; `core.consumer` does."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kafkawire.config import ConsumerOptions
from kafkawire.core.broker import BrokerLink
from kafkawire.core.buffer import Buffer, Packed, Piece
from kafkawire.core.client import Client, Purpose
from kafkawire.core.partition import PartitionState, parse_start
from kafkawire.errors import (
    CorruptRecordsError,
    DecodeError,
    ErrorCode,
    KafkaError,
    MessageTooLargeError,
    NetworkError,
    OffsetOutOfRangeError,
    RequestTimedOut,
    broker_error,
)
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER, Pending, Signal
from kafkawire.protocol.frames import decode_response
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkawire.protocol.records import RecordBatch, read_batches
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["FetchSettings", "Fetcher", "build_request", "located", "partition_answers"]

log = logging.getLogger("kafkawire.consumer")

PACKED_BYTES = 1 << 20
"""Encoded bytes in one piece of the buffer: enough that small batches cost little, not so many that memory suffers."""
LAST_BY_NAME = 12
"""The last Fetch version that names topics; later ones use their ids."""
WHOLE_BATCHES = 3
"""From this Fetch version on a broker answers at least one whole batch, whatever its size (trap 41)."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The limits that a fetch asks a broker to keep."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_bytes: int

    @classmethod
    def of(cls, options: ConsumerOptions) -> FetchSettings:
        return cls(
            options["fetch_max_wait_ms"],
            options["fetch_min_bytes"],
            options["fetch_max_bytes"],
            options["max_partition_fetch_bytes"],
        )


@dataclass(eq=False, slots=True)
class InFlight:
    """One Fetch that is not answered yet, and for which epochs of the partitions it was sent."""

    pending: Pending
    link: BrokerLink
    version: int
    sent_at: float
    asked: dict[TopicPartition, tuple[PartitionState, int, int]]
    names: dict[bytes, str]


def build_request(
    client: Client, link: BrokerLink, offsets: Iterable[tuple[TopicPartition, int]], settings: FetchSettings
) -> tuple[FetchRequest, int, dict[bytes, str]]:
    """A sessionless Fetch, the version to send it in, and the names behind the topic ids that it uses."""
    topics: dict[str, FetchRequest.Topic] = {}
    known = client.snapshot.topics
    for tp, offset in offsets:
        topic = topics.get(tp.topic)
        if topic is None:
            topic = topics[tp.topic] = FetchRequest.Topic(topic=tp.topic, topic_id=known[tp.topic].topic_id)
        topic.partitions.append(
            FetchRequest.Topic.Partition(
                partition=tp.partition,
                current_leader_epoch=known[tp.topic].partitions[tp.partition].leader_epoch,
                fetch_offset=offset,
                partition_max_bytes=settings.partition_bytes,
            )
        )
    by_name = any(topic.topic_id == ZERO_UUID for topic in topics.values())
    version = link.version(FetchRequest, LAST_BY_NAME if by_name else None)
    request = FetchRequest(
        max_wait_ms=settings.max_wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=settings.max_bytes,
        topics=list(topics.values()),
    )
    names = {topic.topic_id: name for name, topic in topics.items()} if version > LAST_BY_NAME else {}
    return request, version, names


def partition_answers(response: FetchResponse, names: dict[bytes, str]) -> Iterator[tuple[TopicPartition, Any]]:
    """(partition, its answer) for everything in a response."""
    for topic in response.responses:
        name = names.get(topic.topic_id) if names else topic.topic
        if name is not None:
            for answer in topic.partitions:
                yield TopicPartition(name, answer.partition_index), answer


class Fetcher:
    """Keeps one Fetch in flight to each leader, the next one being on its way while the last is decoded."""

    def __init__(self, client: Client, options: ConsumerOptions, signal: Signal) -> None:
        self._client = client
        self._options = options
        self._settings = FetchSettings.of(options)
        self._signal = signal
        self._timeout = (options["request_timeout_ms"] + options["fetch_max_wait_ms"]) / 1000
        self._in_flight: dict[int, InFlight] = {}
        self._purpose = Purpose("fetch")
        self.states: dict[TopicPartition, PartitionState] = {}
        self.buffer = Buffer()
        self._turns: dict[int, int] = {}
        self._errors: dict[PartitionState, tuple[int, KafkaError]] = {}
        """What the caller of poll has to know, and the epoch that it is about."""

    def step(self, now: float) -> float:
        """Take in answers, send the fetches that can be sent; returns when to come again."""
        due = self._reap(now)
        if self.buffer.size() >= self._settings.max_bytes:
            return due
        for node, states in self._fetchable(now).items():
            try:
                link = self._client.link_or_connect(node, self._purpose, self._signal)
            except NetworkError:
                self._client.suspect_metadata()
                continue
            if not isinstance(link, BrokerLink):
                due = min(due, link)
            elif link.muted_until > now:
                due = min(due, link.muted_until)
            else:
                self._send(node, link, states, now)
                due = min(due, now + self._timeout)
        retries = [state.retry_at for state in self.states.values() if state.retry_at > now]
        return min([due, *retries])

    def close(self) -> None:
        """Close the links, and forget what was fetched."""
        self._in_flight.clear()
        self.buffer = Buffer()
        self._client.release(self._purpose)

    def report(self, state: PartitionState, error: KafkaError) -> None:
        """Let the caller of poll know, unless the partition is sought before."""
        self._errors[state] = (state.epoch, error)

    def take_error(self) -> KafkaError | None:
        """What was reported and still holds; once."""
        while self._errors:
            state, (epoch, error) = self._errors.popitem()
            if state.epoch == epoch:
                return error
        return None

    def pause(self, state: PartitionState, now: float) -> None:
        """Leave a partition alone for a while, longer after every failure."""
        state.failures += 1
        state.retry_at = now + self._client.retry_backoff.delay(state.failures)

    # ---- sending

    def _fetchable(self, now: float) -> dict[int, list[tuple[PartitionState, int]]]:
        """(partition, offset) by leader, of the partitions that can be fetched."""
        groups: dict[int, list[tuple[PartitionState, int]]] = {}
        for state in self.states.values():
            offset = self.buffer.end(state)
            if state.paused or offset is None or state.retry_at > now:
                continue
            leader = self._client.snapshot.leader(*state.tp)
            if leader is None:
                self._client.suspect_metadata()
            elif leader not in self._in_flight:
                groups.setdefault(leader, []).append((state, offset))
        return groups

    def _send(self, node: int, link: BrokerLink, states: list[tuple[PartitionState, int]], now: float) -> None:
        asked: dict[TopicPartition, tuple[PartitionState, int, int]] = {}
        # Another partition comes first every time, so that none starves the others (trap 99).
        first = self._turns.get(node, 0) % len(states)
        self._turns[node] = first + 1
        for state, offset in states[first:] + states[:first]:
            asked[state.tp] = (state, state.epoch, offset)
        offsets = [(tp, offset) for tp, (_, _, offset) in asked.items()]
        request, version, names = build_request(self._client, link, offsets, self._settings)
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
                raise broker_error(ErrorCode.of(response.error_code), f"Fetch from {request.link.address}")
        except KafkaError as error:
            if isinstance(error, DecodeError):
                request.link.link.fail(error)
            log.warning("fetch: %s", error)
            self._client.suspect_metadata()
            for state, _, _ in request.asked.values():
                self.pause(state, now)
            return
        request.link.note_throttle(response, FetchRequest.key, request.version, now)
        pieces: list[Piece] = []
        for tp, answer in partition_answers(response, request.names):
            if tp not in request.asked:
                continue
            state, epoch, offset = request.asked[tp]
            # While a leader moves both may be asked for the same offset, and an interrupted step takes an answer in again.
            if state.epoch != epoch or self.buffer.end(state) != offset:
                continue
            if answer.error_code:
                self._refused(state, ErrorCode.of(answer.error_code), offset, now)
                continue
            state.end = answer.high_watermark
            state.log_start = answer.log_start_offset if answer.log_start_offset >= 0 else None
            state.failures = 0
            pieces += self._pieces(state, offset, answer.records, request.version)
        self.buffer = self.buffer.add(pieces)

    def _pieces(self, state: PartitionState, offset: int, records: memoryview | None, version: int) -> list[Piece]:
        if not records:
            return []
        batches: list[RecordBatch] = []
        error: KafkaError | None = None
        try:
            batches.extend(read_batches(records, check_crcs=self._options["check_crcs"]))
        except CorruptRecordsError as failure:
            error = located(failure, state.tp, batches[-1].next_offset if batches else offset)
        if not batches and error is None:
            error = self._too_large(state.tp, offset, len(records), version)
        if error is not None and not batches and not self.buffer.holds(state):
            self.report(state, error)
        batches = [batch for batch in batches if batch.next_offset > offset]
        return list(_group(state, offset, batches, self._options["max_decompressed_bytes"]))

    def _too_large(self, tp: TopicPartition, offset: int, size: int, version: int) -> KafkaError:
        """Part of a batch and nothing else (trap 41)."""
        where = f"{tp.topic} partition {tp.partition} at offset {offset}"
        if version >= WHOLE_BATCHES:
            return CorruptRecordsError(f"{where}: {size} bytes that hold no whole batch")
        return MessageTooLargeError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{where}: the next message is larger than max_partition_fetch_bytes={self._settings.partition_bytes}: raise it",
        )

    def _refused(self, state: PartitionState, code: ErrorCode, offset: int, now: float) -> None:
        where = f"Fetch of {state.tp.topic} partition {state.tp.partition} at offset {offset}"
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if self.buffer.position(state) != offset:
                return  # the position has moved on since (trap 101)
            start = parse_start(self._options["auto_offset_reset"])
            if start == "none":
                self.report(state, OffsetOutOfRangeError(code, f"{where}: seek to an offset that exists"))
                self.pause(state, now)
            else:
                log.warning("%s: out of range, going to the %s offset", where, self._options["auto_offset_reset"])
                state.seek(None, start)
            return
        if code.refresh_metadata:
            self._client.suspect_metadata()
        if not code.retriable:
            self.report(state, broker_error(code, where))
        self.pause(state, now)


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


def located(error: KafkaError, tp: TopicPartition, offset: int) -> KafkaError:
    """The error with the place of the damage; one that is not about damage as it is."""
    if not isinstance(error, CorruptRecordsError):
        return error
    return CorruptRecordsError(
        f"{tp.topic} partition {tp.partition} at offset {offset}: {error.reason}; seek past it to go on, or fetch it again"
    )

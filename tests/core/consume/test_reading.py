"""Subscription, responses and collector against a model: nothing is skipped and nothing handed out twice, whatever happens.

Answers come late, twice, out of order, damaged or as errors; partitions are sought, paused, assigned and deleted in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.metadata import Address, Partition, Snapshot, Topic
from kafkawire.core.consume import fetch_response
from kafkawire.core.consume.collector import FetchCollector
from kafkawire.core.consume.fetch_request import FetchTarget
from kafkawire.core.consume.fetch_response import FetchResponseHandler
from kafkawire.core.consume.fetcher import CompletedFetch
from kafkawire.core.consume.partition_state import FetchState
from kafkawire.core.consume.position_lookup import FoundPosition
from kafkawire.core.consume.reports import Reports
from kafkawire.core.consume.subscription import Subscription, parse_start
from kafkawire.errors import DecodeError, DeserializationError, ErrorCode, KafkaError, RequestTimedOut
from kafkawire.events import PositionReset
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER
from kafkawire.protocol.records import slices
from tests.bare import hidden
from tests.core.consume.logs import LogBatch, make_log

PARTITIONS = [TopicPartition("t", index) for index in range(3)]
BY_ID = 13
"""A Fetch version that names topics by id."""
NOW = 0.0
ANSWERS: list[str | ErrorCode | KafkaError] = [
    "whole",
    "damaged",
    "twice",
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    RequestTimedOut("late"),
    DecodeError("odd", api="Fetch", version=BY_ID),
]
HAS_ARROW = "pyarrow" not in hidden() and find_spec("pyarrow") is not None

partitions = st.sampled_from(PARTITIONS)
chosen = st.sampled_from([frozenset(some) for count in (1, 2, 3) for some in combinations(PARTITIONS, count)])
numbers = st.integers(0, 30)


@pytest.fixture(scope="module", autouse=True)
def _small_pieces():
    """Answers are cut into several pieces, and large batches decoded bit by bit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch_response, "PIECE_BYTES", 150)
        patch.setattr(slices, "SLICE_RECORDS", 3)
        yield


def topic_id(generation: int) -> bytes:
    return bytes([generation + 1]) * 16


def deserialize(value: bytes) -> bytes:
    if int(value.split()[-1]) % 23 == 11:
        raise ValueError("poison")
    return value


@dataclass(eq=False)
class Expected:
    """Where a partition is, as the model has it: one object from one seek, pause or reset to the next."""

    generation: int = -1
    offset: int | None = None
    """Next offset; None while the position is being looked up."""
    paused: bool = False


@dataclass(frozen=True)
class Request:
    """A partition that was asked for, of which topic, and what its log held then."""

    target: FetchTarget
    generation: int
    end: int


@dataclass(frozen=True)
class Lookup:
    """A position that was looked up, and what the model expected then."""

    found: FoundPosition
    expected: Expected
    generation: int


class Reading(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        given = {"bootstrap_servers": "x:1", "auto_offset_reset": "earliest", "max_poll_records": 7, "fetch_max_bytes": 600}
        options = resolve(ConsumerOptions, {**given, "value_deserializer": deserialize})
        backoff = Backoff(0, 0)
        client: Any = SimpleNamespace(
            net=SimpleNamespace(now=lambda: NOW), metadata=SimpleNamespace(suspect=lambda: None), retry_backoff=backoff
        )
        self.collector = FetchCollector(client.net, options)
        self.reports = Reports()
        self.subscription = Subscription([], "earliest", self.collector, self.reports, backoff)
        self.handler = FetchResponseHandler(client, options, self.subscription, self.collector, self.reports)
        self.generation = 0
        self.batches = dict.fromkeys(PARTITIONS, 6)
        """Batches that each log has so far, of those that it will have."""
        self.expected: dict[TopicPartition, Expected] = {}
        self.requests: list[Request] = []
        self.lookups: list[Lookup] = []
        self.iterators: list[Any] = []
        self.refresh_metadata()
        self.assign(frozenset(PARTITIONS))

    # ---- the cluster

    def log(self, tp: TopicPartition, generation: int) -> tuple[LogBatch, ...]:
        """All batches that the log will ever have."""
        return make_log(generation, tp.partition)

    def end(self, tp: TopicPartition) -> int:
        count = self.batches[tp]
        return self.log(tp, self.generation)[count - 1].next_offset if count else 0

    def produce(self, tp: TopicPartition, count: int) -> None:
        self.batches[tp] = min(len(self.log(tp, self.generation)), self.batches[tp] + count)

    def recreate_topic(self, count: int) -> None:
        self.generation += 1
        self.batches = dict.fromkeys(PARTITIONS, count)

    def refresh_metadata(self) -> None:
        self.known = self.generation
        leaders = {tp.partition: Partition(tp.partition, 1, 0, (1,), (1,)) for tp in PARTITIONS}
        topic = Topic("t", topic_id(self.known), False, MappingProxyType(leaders))
        self.snapshot = Snapshot(topics=MappingProxyType({"t": topic}))
        assert self.subscription.follow(self.snapshot)

    @rule(what=st.sampled_from(["records", "topic"]), tp=partitions, count=st.integers(0, 4))
    def change(self, what: str, tp: TopicPartition, count: int) -> None:
        if what == "records":
            self.produce(tp, count)
        elif self.generation < 3:
            self.recreate_topic(count)

    # ---- the caller's wishes

    @rule(what=st.sampled_from(["assign", "seek", "earliest", "latest", "pause", "resume"]), tps=chosen, offset=numbers)
    def steer(self, what: str, tps: frozenset[TopicPartition], offset: int) -> None:
        if what == "seek":
            self.seek(min(tps), offset)
        elif what in ("earliest", "latest"):
            self.seek_to(tps, what)
        else:
            {"assign": self.assign, "pause": self.pause, "resume": self.resume}[what](tps)

    def assign(self, tps: frozenset[TopicPartition]) -> None:
        self.subscription.assign(sorted(tps))
        self.subscription.follow(self.snapshot)
        self.expected = {tp: self.expected.get(tp) or Expected() for tp in sorted(tps)}
        self.check_positions()

    def seek(self, tp: TopicPartition, offset: int) -> None:
        if tp in self.expected:
            state = self.subscription.ensure_state(tp)
            of_known_topic = state.topic_id_known and not state.lost
            generation = state.topic_id[0] - 1 if of_known_topic else -1
            self.subscription.seek(tp, offset)
            self.expected[tp] = Expected(generation, offset, self.expected[tp].paused)

    def seek_to(self, tps: frozenset[TopicPartition], start: str) -> None:
        sought = sorted(tps & set(self.expected))
        self.subscription.seek_each(sought, parse_start(start))
        for tp in sought:
            self.expected[tp] = Expected(paused=self.expected[tp].paused)

    def pause(self, tps: frozenset[TopicPartition]) -> None:
        held = sorted(tps & set(self.expected))
        self.subscription.pause(held)
        for tp in held:
            was = self.expected[tp]
            if not was.paused:
                self.expected[tp] = Expected(was.generation, was.offset, paused=True)
        self.check_positions()

    def resume(self, tps: frozenset[TopicPartition]) -> None:
        held = sorted(tps & set(self.expected))
        self.subscription.resume(held)
        for tp in held:
            self.expected[tp].paused = False

    # ---- positions

    def look_up(self) -> None:
        for tp, expected in self.expected.items():
            state = self.subscription.ensure_state(tp)
            if state.position is None:
                offset = 0 if state.start == parse_start("earliest") else self.end(tp)
                found = FoundPosition(state, state.revision, offset, topic_id(self.known))
                self.lookups.append(Lookup(found, expected, self.known))

    @rule(data=st.data(), again=st.booleans())
    @precondition(lambda self: self.lookups)
    def apply_position(self, data: st.DataObject, again: bool) -> None:
        lookup = data.draw(st.sampled_from(self.lookups))
        if not again:
            self.lookups.remove(lookup)
        self.apply_lookup(lookup)

    def apply_lookup(self, lookup: Lookup) -> None:
        tp, expected = lookup.found.state.tp, lookup.expected
        wanted = self.expected.get(tp) is expected and expected.offset is None
        assert lookup.found.stale == (not wanted)
        if wanted:
            assert isinstance(lookup.found.offset, int)
            lookup.found.state.found(lookup.found.offset, lookup.found.topic_id)
            expected.generation, expected.offset = lookup.generation, lookup.found.offset

    # ---- fetches

    @rule(answered=chosen, most=st.integers(1, 4), fresh=st.booleans())
    def fetch(self, answered: frozenset[TopicPartition], most: int, fresh: bool) -> None:
        """Look up positions, and fetch; some of the requests are answered at once."""
        if fresh:
            self.refresh_metadata()
        del self.lookups[:-20], self.requests[:-20]
        self.look_up()
        for lookup in self.lookups[-len(self.expected) :]:
            self.apply_lookup(lookup)
        self.send_fetches()
        for request in self.requests[-len(self.expected) :]:
            if request.target.state.tp in answered:
                self.requests.remove(request)
                self.apply_answer(request, most, "whole")

    def send_fetches(self) -> None:
        self.collector.settle()
        if self.collector.is_full():
            return
        self.subscription.match_topics(self.snapshot, NOW)
        self.check_events()
        for target in self.subscription.fetch_targets(self.snapshot, NOW):
            tp = target.state.tp
            expected = self.expected[tp]
            assert not expected.paused
            if expected.generation < 0:
                expected.generation = self.known  # an offset that was sought in a topic not known before
            end = self.end(tp) if self.known == self.generation else 0
            self.requests.append(Request(target, self.known, end))

    @rule(data=st.data(), again=st.booleans(), most=st.integers(1, 5), how=st.sampled_from(ANSWERS))
    @precondition(lambda self: self.requests)
    def answer(self, data: st.DataObject, again: bool, most: int, how: str | ErrorCode | KafkaError) -> None:
        """Answer any request, not only the oldest, and perhaps once more later."""
        request = data.draw(st.sampled_from(self.requests))
        if not again:
            self.requests.remove(request)
        if isinstance(how, ErrorCode):
            self.apply(self.refusal(request.target, how))
        elif isinstance(how, KafkaError):
            self.apply(CompletedFetch(Address("b", 1), BY_ID, failed=[request.target], error=how))
        else:
            self.apply_answer(request, most, how)

    def apply_answer(self, request: Request, most: int, how: str) -> None:
        tp, target = request.target.state.tp, request.target
        end = max(request.end, self.end(tp)) if request.generation == self.generation else request.end
        if target.offset > end:
            self.apply(self.refusal(target, ErrorCode.OFFSET_OUT_OF_RANGE))
            return
        found = [b for b in self.log(tp, request.generation) if target.offset < b.next_offset <= end][:most]
        parts = [batch.data for batch in found]
        if how == "damaged" and parts:
            parts[-1] = parts[-1][:-1] + bytes([parts[-1][-1] ^ 1])
        elif how == "twice":
            parts += parts
        answer = SimpleNamespace(error_code=0, records=memoryview(b"".join(parts)))
        self.apply(CompletedFetch(Address("b", 1), BY_ID, [(target, answer)]))

    def refusal(self, target: FetchTarget, code: ErrorCode) -> CompletedFetch:
        answer = SimpleNamespace(error_code=code.value, records=None)
        return CompletedFetch(Address("b", 1), BY_ID, [(target, answer)])

    def apply(self, fetch: CompletedFetch) -> None:
        self.handler.apply(fetch, NOW)
        self.check_events()
        while self.reports.take_error(NEVER) is not None:
            pass

    def check_events(self) -> None:
        """A position is lost only where its log has no such offset, and after everything fetched was handed out."""
        for event in self.reports.take_events():
            if isinstance(event, PositionReset):
                tp = TopicPartition(event.topic, event.partition)
                expected = self.expected[tp]
                assert expected.offset is not None
                self.check_nothing_between(tp, expected.offset, event.position)
                assert expected.generation != self.generation or event.position > self.end(tp)
                self.expected[tp] = Expected(paused=expected.paused)

    # ---- handing out

    @rule(how=st.sampled_from(["take", "take_arrow", "iterate", "iterate"]), most=st.integers(0, 12))
    def hand_out(self, how: str, most: int) -> None:
        if how == "iterate":
            self.iterate(most)
        elif how == "take_arrow" and HAS_ARROW:
            self.take_arrow(most)
        else:
            self.take(most)

    def take(self, most: int) -> None:
        try:
            messages = self.collector.take(most, NEVER)
        except DeserializationError as error:
            self.skip_poison(error)
            return
        assert len(messages) <= most
        for message in messages:
            self.check_handed_out(TopicPartition(message.topic, message.partition), message.offset, message.value)

    def take_arrow(self, most: int) -> None:
        batch = self.collector.take_arrow(most, False, NEVER)
        rows = [] if batch is None else batch.to_pylist()
        assert len(rows) <= most
        for row in rows:
            self.check_handed_out(TopicPartition(row["topic"], row["partition"]), row["offset"], row["value"])

    def iterate(self, count: int) -> None:
        for _ in range(count):
            for message in self.collector.upcoming:
                self.check_handed_out(TopicPartition(message.topic, message.partition), message.offset, message.value)
                break
            else:
                try:
                    if not self.collector.take_ahead(NEVER):
                        return
                except DeserializationError as error:
                    self.skip_poison(error)
                    return
                self.iterators.append(self.collector.upcoming)

    @invariant()
    def iterators_that_were_replaced_have_ended(self) -> None:
        assert all(next(each, None) is None for each in self.iterators if each is not self.collector.upcoming)

    def check_handed_out(self, tp: TopicPartition, offset: int, value: bytes | None) -> None:
        expected = self.expected[tp]
        assert expected.offset is not None
        assert not expected.paused
        self.check_nothing_between(tp, expected.offset, offset)
        assert offset >= expected.offset, "handed out twice"
        assert value == b"%d %d %d" % (expected.generation, tp.partition, offset)
        expected.offset = offset + 1

    def check_nothing_between(self, tp: TopicPartition, start: int, end: int) -> None:
        offsets = [offset for batch in self.log(tp, self.expected[tp].generation) for offset in batch.offsets]
        assert [offset for offset in offsets if start <= offset < end] == [], "skipped"

    def skip_poison(self, error: DeserializationError) -> None:
        message = error.message
        tp = TopicPartition(message.topic, message.partition)
        self.check_handed_out(tp, message.offset, message.value)
        self.subscription.seek(tp, message.offset + 1)
        self.expected[tp] = Expected(self.expected[tp].generation, message.offset + 1, self.expected[tp].paused)

    # ---- what always holds

    @rule()
    def check_positions(self) -> None:
        self.collector.settle()
        for tp, expected in self.expected.items():
            state = self.subscription.ensure_state(tp)
            position = self.collector.position(state)
            assert (position is None) == (expected.offset is None)
            if position is not None and expected.offset is not None:
                assert position >= expected.offset
                if expected.generation >= 0:
                    self.check_nothing_between(tp, expected.offset, position)
                fetch_offset = self.collector.fetch_offset(state)
                assert fetch_offset is not None
                assert fetch_offset >= position

    @invariant()
    def states_agree_with_what_they_hold(self) -> None:
        assert self.subscription.assignment() == set(self.expected)
        assert self.subscription.paused() == {tp for tp, expected in self.expected.items() if expected.paused}
        for state in self.subscription.states():
            without = (FetchState.AWAITING_POSITION, FetchState.RESETTING)
            assert (state.position is None) == (state.fetch_state in without)


TestReading = Reading.TestCase
TestReading.settings = settings(max_examples=150, stateful_step_count=60, suppress_health_check=[HealthCheck.too_slow])

"""The accumulator and the queues of its partitions: which batches leave, when, and in which order."""

from __future__ import annotations

import pytest

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ProducerOptions, resolve
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.errors import KafkaError
from kafkawire.net.base import NEVER
from tests.sim.driver import SimNet


def accumulator(**options):
    made = Accumulator(SimNet(0), resolve(ProducerOptions, options), DeliveryBase)
    made.topics.add("t", 1, 0)
    return made


def taken(made, now=1e9):
    drained = made.drain(0.0 if now is None else now, {1: 10**9}, lambda *_: 1)
    return [batch for batches in drained.taken.values() for batch in batches]


def test_a_batch_waits_for_its_time_or_for_a_flush():
    made = accumulator(linger_ms=1000)
    made.append("t", b"v")
    assert taken(made, now=0.9) == []
    assert made.drain(0.9, {1: 10**9}, lambda *_: 1).due == pytest.approx(1.0)
    made.start_flush(made)
    assert len(taken(made, now=0.9)) == 1
    made.end_flush(made)
    assert made.drain(2.0, {1: 10**9}, lambda *_: 1).due == NEVER


def test_lines_about_the_same_failures_keep_their_distance():
    made = accumulator(linger_ms=0)

    def lines(now, failures=0):
        for _ in range(failures):
            made.append("t", b"v")
            (batch,) = taken(made, now=0.5)
            made.fail(batch, KafkaError("refused"))
        return made.drain(now, {}, lambda *_: 1).loss_lines

    assert lines(0.9, failures=3) == []
    assert [line.partition(" ")[0] for line in lines(1.0)] == ["3"]
    for now in (2.0, 10.0, 30.9):
        assert lines(now, failures=2) == []
    assert [line.partition(" ")[0] for line in lines(31.0)] == ["6"]
    assert lines(1e9) == []


def test_a_new_leader_gets_nothing_before_the_old_one_has_answered():
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2"):
        made.append("t", value)
    (first,) = taken(made, now=1.0)
    made.acknowledge(first)
    (second,) = taken(made, now=1.0)
    made.append("t", b"3")
    assert not made.drain(1.0, {2: 10**9}, lambda *_: 2).taken
    made.acknowledge(second)
    assert len(made.drain(1.0, {2: 10**9}, lambda *_: 2).taken[2]) == 1


def test_a_topic_that_was_created_again_gets_nothing_before_what_is_in_flight_is_back():
    """Its log knows no producer: it would take a later batch first, and the earlier one never."""
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2", b"3"):
        made.append("t", value)
    (first,) = taken(made, now=1.0)
    made.acknowledge(first)
    (second,) = taken(made, now=1.0)
    made.topics.assign_sequence(second, (7, 0))
    made.topics.replace_logs("t")
    assert taken(made, now=1.0) == []
    made.retry(second, at=2.0)
    assert taken(made, now=2.0) == [second]
    assert taken(made, now=2.0) == []
    made.acknowledge(second)
    assert len(taken(made, now=2.0)) == 1


def test_after_a_failure_nothing_leaves_before_those_in_flight_are_back():
    """The failed batch goes first: more batches in between would exceed the number that brokers remember (trap 62)."""
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2", b"3", b"4"):
        made.append("t", value)
    first, second, third = (taken(made, now=1.0)[0] for _ in range(3))
    made.retry(first, at=2.0)
    assert taken(made, now=5.0) == []
    made.retry(second, at=2.0)
    assert taken(made, now=5.0) == []
    made.acknowledge(third)
    assert taken(made, now=1.9) == []
    assert taken(made, now=2.0) == [first]
    assert taken(made, now=2.0) == [second]


def test_a_new_batch_waits_behind_one_that_is_sent_again():
    """That one may have been written before it failed, and a broker that has taken five more since would not know it."""
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2"):
        made.append("t", value)
    (first,) = taken(made, now=1.0)
    first.note_failure(KafkaError("late"))
    made.retry(first, at=2.0)
    assert taken(made, now=2.0) == [first]
    assert taken(made, now=2.0) == []
    made.acknowledge(first)
    assert len(taken(made, now=2.0)) == 1

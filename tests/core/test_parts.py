"""Small parts of the client whose edges are out of reach of a test over TCP."""

from __future__ import annotations

import pytest

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ProducerOptions, resolve
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.consume.buffer import Buffer, Packed
from kafkawire.core.consume.subscription import PartitionState
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.core.produce.columns import Columns
from kafkawire.errors import BrokerError, DecodeError, ErrorCode, KafkaError, UnsupportedVersionError
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER
from kafkawire.protocol.handshake import common_version, read_api_versions
from kafkawire.protocol.messages.produce import ProduceRequest
from kafkawire.protocol.records import encode_record, read_batches, seal_batch
from tests.sim.driver import SimNet


def test_backoff_grows_to_its_limit():
    backoff = Backoff(100, 1000)
    for failures, middle in ((1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (1_000_000, 1.0)):
        delays = [backoff.delay(failures) for _ in range(100)]
        assert middle * 0.8 <= min(delays) < max(delays) <= middle * 1.2
    assert Backoff(0, 0).delay(5) == 0
    assert Backoff(500, 100).delay(1) >= 0.4  # a first pause above the limit raises it


def test_rows_that_fit():
    columns = Columns([bytes(10), bytes(1000), b"", bytes(10)])
    for start in range(4):
        for room in (0, columns.size(start) - 1, columns.size(start), 10_000):
            end = columns.fitting(start, room)
            assert sum(map(columns.size, range(start, end))) <= room
            assert end == 4 or sum(map(columns.size, range(start, end + 1))) > room
    for row, value in enumerate(columns.values):
        assert len(encode_record(2**30, 2**60, None, value)) <= columns.size(row)


def accumulator(**options):
    made = Accumulator(SimNet(0), resolve(ProducerOptions, options), DeliveryBase)
    made.add_topic("t", 1, 0)
    return made


def taken(made, now=1e9):
    drained = made.drain(0.0 if now is None else now, {1: 10**9}, lambda *_: 1)
    return [batch for batches in drained.taken.values() for batch in batches]


def test_trap_28_sequences_wrap():
    made = accumulator(linger_ms=0)
    sequences = []
    for start in (2**31 - 3, None, None):
        made.append("t", b"v")
        made.append("t", b"v")
        (batch,) = taken(made, now=1.0)
        if start is not None:
            batch.queue.next_sequence = start
        batch.queue.assign_sequence(batch, (7, 0))
        sequences.append(batch.sequence)
        made.complete(batch)
    assert sequences == [2**31 - 3, 2**31 - 1, 1]


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
            made.complete(batch, KafkaError("refused"))
        return made.drain(now, {}, lambda *_: 1).losses

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
    made.complete(first)
    (second,) = taken(made, now=1.0)
    made.append("t", b"3")
    assert not made.drain(1.0, {2: 10**9}, lambda *_: 2).taken
    made.complete(second)
    assert len(made.drain(1.0, {2: 10**9}, lambda *_: 2).taken[2]) == 1


def test_a_topic_that_was_created_again_gets_nothing_before_what_is_in_flight_is_back():
    """Its log knows no producer: it would take a later batch first, and the earlier one never."""
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2", b"3"):
        made.append("t", value)
    (first,) = taken(made, now=1.0)
    made.complete(first)
    (second,) = taken(made, now=1.0)
    second.queue.assign_sequence(second, (7, 0))
    made.restart_topic("t")
    assert taken(made, now=1.0) == []
    made.retry(second, at=2.0)
    assert taken(made, now=2.0) == [second]
    assert taken(made, now=2.0) == []
    made.complete(second)
    assert len(taken(made, now=2.0)) == 1


def test_after_a_failure_nothing_leaves_before_those_in_flight_are_back():
    """What failed goes first then: more in between would go past what brokers remember (trap 62)."""
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2", b"3", b"4"):
        made.append("t", value)
    first, second, third = (taken(made, now=1.0)[0] for _ in range(3))
    made.retry(first, at=2.0)
    assert taken(made, now=5.0) == []
    made.retry(second, at=2.0)
    assert taken(made, now=5.0) == []
    made.complete(third)
    assert taken(made, now=1.9) == []
    assert taken(made, now=2.0) == [first]
    assert taken(made, now=2.0) == [second]


def test_a_new_batch_waits_behind_one_that_is_sent_again():
    """That one may have been written before it failed, and a broker that has taken five more since would not know it."""
    made = accumulator(linger_ms=0, batch_size=1)
    for value in (b"1", b"2"):
        made.append("t", value)
    (first,) = taken(made, now=1.0)
    first.attempts = 1
    made.retry(first, at=2.0)
    assert taken(made, now=2.0) == [first]
    assert taken(made, now=2.0) == []
    made.complete(first)
    assert len(taken(made, now=2.0)) == 1


def segment(state, start, count):
    parts = [encode_record(i, 0, None, b"v") for i in range(count)]
    batch = bytearray(seal_batch(parts, count=count, base_timestamp=0, max_timestamp=0))
    batch[:8] = start.to_bytes(8, "big")
    return Packed.of(state, start, list(read_batches(batch)), 1000)


def test_a_buffer_forgets_what_was_sought_away_from():
    a, b = (PartitionState(TopicPartition("t", index), -2) for index in range(2))
    a.position = b.position = 0
    (records,) = segment(a, 0, 3).opened()
    buffer = Buffer().add([records, segment(b, 0, 3), segment(a, 3, 3)]).after(0, 2)
    assert (buffer.position(a), buffer.end(a), buffer.position(b), buffer.end(b)) == (2, 6, 0, 3)
    a.seek(100, 100)
    assert (buffer.position(a), buffer.end(a), buffer.holds(a)) == (100, 100, False)
    assert buffer.size() == buffer.pieces[1].size
    buffer = buffer.add([segment(b, 3, 1)])
    assert [s.state for s in buffer.pieces] == [b, b]
    assert (buffer.row, buffer.position(b), buffer.end(b)) == (0, 0, 4)


def test_trap_8_versions_in_common():
    assert common_version(ProduceRequest, {0: (0, 7)}) == 7
    assert common_version(ProduceRequest, {0: (0, 99)}) == ProduceRequest.versions.max
    assert common_version(ProduceRequest, {0: (0, 99)}, 12) == 12
    for ranges in ({}, {0: (90, 99)}):
        with pytest.raises(UnsupportedVersionError, match="Produce"):
            common_version(ProduceRequest, ranges)


HEADER = b"\0\0\0\1"


@pytest.mark.parametrize(
    ("body", "version", "next_version"),
    [
        (b"\0\x23\0\0\0\1\0\x12\0\0\0\3", 4, 3),  # as Kafka answers: in the form of v0, with what it offers
        (b"\0\x23\0\0\0\1\0\x12\0\0\0\4", 4, 3),  # never the same again
        (b"\0\x23\0\0\0\0", 4, 0),
        (b"\0\x23\1\0\0\0\0\0", 4, 0),  # librdkafka's mock: a compact array
        (b"\0\x23", 4, 0),
    ],
)
def test_trap_5_a_version_of_api_versions_that_is_too_new(body, version, next_version):
    assert read_api_versions(bytearray(HEADER + body), version) == next_version


def test_other_answers_are_errors():
    with pytest.raises(DecodeError):
        read_api_versions(bytearray(HEADER + b"\0\0\0"), 0)
    with pytest.raises(UnsupportedVersionError, match="UNSUPPORTED_VERSION"):
        read_api_versions(bytearray(HEADER + b"\0\x23\0\0\0\0"), 0)
    with pytest.raises(BrokerError, match="REBOOTSTRAP_REQUIRED") as caught:
        read_api_versions(bytearray(HEADER + b"\0\x81\1\0\0\0\0\0"), 5)
    assert caught.value.error is ErrorCode.REBOOTSTRAP_REQUIRED

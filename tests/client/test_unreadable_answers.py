"""Answers that cannot be decoded: tried again, and if that does not help, an error that says where."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

import pytest

from kafkawire.errors import BootstrapError, BrokerError, CorruptRecordsError, DecodeError, ErrorCode
from kafkawire.message import TopicPartition
from tests.client.faces import SOON

ONE = TopicPartition("one", 0)
QUICK = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 20, "auto_offset_reset": "earliest"}
COUNT_OF_TOPICS = 19
"""Its position in a Fetch response: after size, correlation id, tags, throttle time, error and session id."""
COUNT = 13
"""Position of the first list in other responses: after size, correlation id, tags and throttle time."""


def fill(kafka):
    kafka.produce("one", *[b"%d" % i for i in range(10)])
    for partition in range(4):
        kafka.produce("many", *[b"%d" % i for i in range(10)], partition=partition)


def test_the_partition_is_named_and_the_others_are_read(face, kafka):
    """One makes every answer unreadable that it is in: the others are asked for without it."""
    fill(kafka)
    for partition in range(4):
        kafka.move_leader("many", partition, kafka.leader("one", 0))
    fault = kafka.flip("Fetch", at=COUNT_OF_TOPICS, topic="one")
    address = kafka.brokers[kafka.leader("one", 0)].address
    text = rf"one partition 0 at offset 0: 5 answers to Fetch in a row from {address} cannot be read.*seek past it"
    with face.Consumer("one", "many", bootstrap_servers=kafka.bootstrap, **QUICK) as c:
        found: list[Any] = []
        with pytest.raises(CorruptRecordsError, match=text):
            found.extend(chain.from_iterable(iter(partial(c.poll, timeout=SOON), None)))
        assert sorted((m.partition, m.offset) for m in found) == [(p, i) for p in range(4) for i in range(10)]
        with pytest.raises(CorruptRecordsError, match="6 answers"):
            c.poll(timeout=SOON)
        kafka.produce("many", b"more")
        assert [m.value for m in c.poll(timeout=SOON)] == [b"more"]
        c.seek(ONE, 7)
        fault.clear()
        assert [m.offset for m in c.poll(timeout=SOON)] == [7, 8, 9]


def test_a_few_unreadable_answers_are_passed_over(face, kafka):
    fill(kafka)
    kafka.flip("Fetch", at=COUNT_OF_TOPICS, times=4)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **QUICK) as c:
        assert len(c.poll(timeout=SOON)) == 10
    kafka.check_faults()


@pytest.mark.parametrize("read", ["poll", "poll_arrow", "iterate"])
def test_every_way_of_reading_raises(face, kafka, read):
    fill(kafka)
    kafka.flip("Fetch", at=COUNT_OF_TOPICS)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **QUICK) as c:
        call = (lambda: next(iter(c))) if read == "iterate" else lambda: getattr(c, read)(timeout=SOON)
        with pytest.raises(CorruptRecordsError, match="one partition 0 at offset 0"):
            call()
        assert c.position(ONE) == 0


def test_one_fetch_that_cannot_be_read(face, kafka):
    fill(kafka)
    kafka.flip("Fetch", at=COUNT_OF_TOPICS)
    address = kafka.brokers[kafka.leader("one", 0)].address
    with (
        face.Consumer(bootstrap_servers=kafka.bootstrap, default_api_timeout_ms=2_000, **QUICK) as c,
        pytest.raises(DecodeError, match=rf"Fetch.*{address} about one partition 0 at 3"),
    ):
        c.fetch("one", 0, 3)


@pytest.mark.parametrize("api", ["Fetch", "Metadata"])
def test_the_cause_is_said_when_the_deadline_cuts_the_next_attempt_off(face, kafka, api):
    """Only the first Fetch is answered, with what cannot be read; then nothing of `api` is."""
    fill(kafka)
    kafka.flip("Fetch", at=COUNT_OF_TOPICS, times=1)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, default_api_timeout_ms=2_000, **QUICK) as c:
        c.end_offsets([ONE])
        kafka.drop(api, nth=2 if api == "Fetch" else 1)
        with pytest.raises(DecodeError, match=r"Fetch.*about one partition 0 at 3"):
            c.fetch("one", 0, 3, timeout=2)


def test_the_refusal_of_offsets_is_said_when_the_deadline_cuts_the_next_attempt_off(face, kafka):
    fill(kafka)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, **QUICK) as c:
        c.end_offsets([ONE])
        kafka.fail("ListOffsets", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=1)
        kafka.drop("ListOffsets", nth=2)
        with pytest.raises(BrokerError, match="NOT_LEADER_OR_FOLLOWER"):
            c.end_offsets([ONE], timeout=2)


def test_offsets_that_cannot_be_read(face, kafka):
    kafka.flip("ListOffsets", at=COUNT)
    address = kafka.brokers[kafka.leader("one", 0)].address
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, default_api_timeout_ms=2_000, **QUICK) as c:
        for call in (lambda: c.poll(timeout=SOON), lambda: c.position(ONE), lambda: c.end_offsets([ONE])):
            with pytest.raises(DecodeError, match=rf"ListOffsets.*{address}"):
                call()


def test_metadata_that_cannot_be_read(face, kafka):
    kafka.flip("Metadata", at=COUNT)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **QUICK) as c:
        for call in (lambda: c.poll(timeout=2), lambda: c.end_offsets([ONE], timeout=2)):
            with pytest.raises(BootstrapError, match=r"malformed Metadata"):
                call()

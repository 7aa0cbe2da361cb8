"""A topic that is deleted and created again under its name: old positions mean nothing in it, and nobody skips its records."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafkawire.errors import OffsetOutOfRangeError
from kafkawire.events import PositionReset, TopicRecreated
from kafkawire.message import TopicPartition
from mockbroker import MockCluster
from tests.client.faces import SOON

ONE = TopicPartition("one", 0)
QUICK = {"fetch_max_wait_ms": 20, "retry_backoff_ms": 10, "retry_backoff_max_ms": 20}


def fill(kafka, count, what, partition=0):
    for at in range(0, count, 100):
        kafka.produce("one", *[b"%s %d" % (what, i) for i in range(at, min(at + 100, count))], partition=partition)


def recreate(kafka, partitions=1):
    """With nothing in between: a client that asks before or after sees a topic either way."""

    def both():
        kafka.cluster.delete_topic("one")
        kafka.cluster.create_topic("one", partitions)

    kafka.call(both)


def read(consumer, count, **options):
    found: list[Any] = []
    while len(found) < count:
        polled = consumer.poll(timeout=SOON, **options)
        assert polled, f"only {len(found)} of {count} records came"
        found += polled
    return [m.value for m in found]


@pytest.mark.parametrize(("version", "wait"), [("4.3", 20), ("3.1", 20), ("4.3", 10_000), ("2.8", 10_000)])
def test_the_new_topic_is_read_from_its_beginning(face, version, wait, caplog):
    """By its id; a fetch by name (2.8) that waits ends in the new topic, in which there is no such position."""
    by_name = version == "2.8"
    reason = "the partition does not have that offset" if by_name else "its topic was deleted and created again"
    options = {**QUICK, "auto_offset_reset": "earliest", "fetch_max_wait_ms": wait}
    with MockCluster(brokers=3, topics={"one": 1}, version=version) as kafka:
        fill(kafka, 500, b"old")
        with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
            assert len(read(c, 500)) == 500
            c.poll(timeout=0.05)
            assert c.events() == []
            recreate(kafka)
            fill(kafka, 2000, b"new")
            assert read(c, 2000) == [b"new %d" % i for i in range(2000)]
            events = c.events()
            assert events[-1] == PositionReset("one", 0, 500, "earliest", reason)
            assert events[:-1] == [] if by_name else [TopicRecreated("one")]
            assert c.events() == []
            assert c.position(ONE) == 2000
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert by_name or "topic 'one' was deleted and created again" in warnings
    assert f"one partition 0 at offset 500: {reason}; going on at the earliest offset" in warnings


def test_fetches_by_name_that_see_no_difference_are_made_good_for(face):
    """A broker of 2.8 takes the old position for one in the new topic: until metadata is asked for the next time."""
    options = {**QUICK, "auto_offset_reset": "earliest", "metadata_max_age_ms": 100}
    with MockCluster(brokers=3, topics={"one": 1}, version="2.8") as kafka:
        fill(kafka, 500, b"old")
        with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
            read(c, 500)
            with kafka.hold("Fetch") as barrier:
                while not barrier.held:
                    c.poll(timeout=0.05)
                recreate(kafka)
                fill(kafka, 600, b"new")
            found: list[Any] = []
            while b"new 0" not in found or found[-1] != b"new 599":
                found += read(c, 1)
            assert found[-600:] == [b"new %d" % i for i in range(600)]
            assert c.events()[0] == TopicRecreated("one")


def test_without_topic_ids_the_leader_epoch_tells(face):
    with MockCluster(brokers=3, topics={"one": 1}, version="2.6") as kafka:
        for broker in (1, 2, 3, 1):
            kafka.move_leader("one", 0, broker)
        fill(kafka, 500, b"old")
        with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", **QUICK) as c:
            assert len(read(c, 500)) == 500
            recreate(kafka)
            fill(kafka, 2000, b"new")
            assert read(c, 2000) == [b"new %d" % i for i in range(2000)]
            (event,) = c.events()
            assert (event.topic, event.partition, event.position, event.start) == ("one", 0, 500, "earliest")
            assert "leader epoch went back from" in event.reason


def test_an_offset_that_is_sought_is_one_of_the_topic_known_so_far(face, kafka):
    fill(kafka, 500, b"old")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", **QUICK) as c:
        read(c, 500)
        recreate(kafka)
        fill(kafka, 2000, b"new")
        assert "one" in c.topics()  # metadata is of the new topic from here on
        c.seek(ONE, c.position(ONE))
        assert read(c, 2000) == [b"new %d" % i for i in range(2000)]
        assert PositionReset("one", 0, 500, "earliest", "its topic was deleted and created again") in c.events()


def test_latest_goes_to_the_end(face, kafka):
    fill(kafka, 500, b"old")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **QUICK) as c:
        c.seek(ONE, 0)
        read(c, 500)
        recreate(kafka)
        fill(kafka, 2000, b"new")
        while TopicRecreated("one") not in c.events():
            assert c.poll(timeout=0.05) == []
        assert c.position(ONE) == 2000
        fill(kafka, 1, b"last")
        assert read(c, 1) == [b"last 0"]


def test_without_a_reset_the_caller_decides(face, kafka):
    fill(kafka, 500, b"old")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="none", **QUICK) as c:
        c.seek_to_beginning()
        read(c, 500)
        recreate(kafka)
        fill(kafka, 2000, b"new")
        for _ in range(2):
            with pytest.raises(OffsetOutOfRangeError, match=r"one partition 0 at offset 500: its topic was deleted and.*seek"):
                c.poll(timeout=SOON)
        assert c.events() == [TopicRecreated("one")]
        c.seek(ONE, 1999)
        assert read(c, 1) == [b"new 1999"]


def test_what_was_fetched_of_the_old_topic_is_returned_first(face, kafka):
    fill(kafka, 500, b"old")
    with (
        face.Connection(kafka.bootstrap) as connection,
        face.Consumer("one", connection=connection, auto_offset_reset="earliest", fetch_max_wait_ms=20) as c,
    ):
        found = read(c, 1, max_records=1)
        recreate(kafka)
        fill(kafka, 50, b"new")
        connection.refresh(timeout=SOON)
        found += read(c, 549, max_records=60)
        assert found == [b"old %d" % i for i in range(500)] + [b"new %d" % i for i in range(50)]


def test_each_partition_starts_anew(face, kafka):
    recreate(kafka, partitions=3)
    for partition in range(3):
        fill(kafka, 10, b"old", partition)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", **QUICK) as c:
        read(c, 30)
        recreate(kafka, partitions=3)
        for partition in range(3):
            fill(kafka, 20, b"new", partition)
        assert sorted(read(c, 60)) == sorted(b"new %d" % i for i in range(20) for _ in range(3))
        events = c.events()
        assert events.count(TopicRecreated("one")) == 1
        assert len(events) == 4


def test_a_position_out_of_range_is_an_event(face, kafka):
    fill(kafka, 10, b"v")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", **QUICK) as c:
        c.seek(ONE, 1000)
        read(c, 10)
        reason = "the partition does not have that offset"
        assert c.events() == [PositionReset("one", 0, 1000, "earliest", reason)]


@pytest.mark.parametrize("version", ["4.3", "2.8", "2.6", "0.11.0"])
@pytest.mark.parametrize("acks", ["all", 1])
def test_a_producer_goes_on_in_the_new_topic(face, version, acks):
    """Also an idempotent one, whose sequences the new log has never seen."""
    with MockCluster(brokers=3, topics={"one": 1}, version=version) as kafka:
        for broker in (1, 2, 3, 1):
            kafka.move_leader("one", 0, broker)
        quick = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 20}
        with face.Producer(bootstrap_servers=kafka.bootstrap, acks=acks, **quick) as p:
            for i in range(5):
                p.send("one", b"old %d" % i).result(timeout=SOON)
            recreate(kafka)
            for i in range(5):
                assert p.send("one", b"new %d" % i).result(timeout=SOON).offset == i
        assert [m.value for m in kafka.messages("one")] == [b"new %d" % i for i in range(5)]

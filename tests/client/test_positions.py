"""Positions of a consumer: assign, seek, pause, reset, and queries of offsets."""

from __future__ import annotations

import threading

import pytest

from kafkawire.errors import (
    ConfigurationError,
    OffsetOutOfRangeError,
    UnknownTopicError,
)
from kafkawire.message import TopicPartition
from mockbroker.state.log import PartitionLog
from mockbroker.state.topics import Partition
from tests.client.faces import SOON
from tests.client.records import ONE, fill, take


@pytest.mark.parametrize(
    ("where", "first"),
    [(0, 0), (17, 17), (30, 30), ("earliest", 0), ("latest", 30), ("tail:5", 25), ("tail:1000", 0), ("tail:0", 30)],
)
def test_seek(face, kafka, where, first):
    fill(kafka, 30)
    with face.Consumer(bootstrap_servers=kafka.bootstrap) as c:
        c.assign([ONE])
        c.seek(ONE, where)
        assert c.position(ONE) == first
        fill(kafka, 1, start=30)
        assert [m.offset for m in take(c, 31 - first)] == list(range(first, 31))


@pytest.mark.parametrize("how", ["poll", "poll_arrow", "iterate"])
def test_seek_in_the_middle_of_what_is_fetched(face, kafka, how):
    """Records fetched for the old position are not returned (trap 100)."""

    def offsets():
        if how == "poll":
            return [m.offset for m in c.poll(timeout=SOON, max_records=2)]
        if how == "poll_arrow":
            return c.poll_arrow(timeout=SOON, max_records=2).column("offset").to_pylist()
        found = []
        for message in c:
            found.append(message.offset)
            if len(found) == 2:
                return found
        return None

    fill(kafka, 100)
    options = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 20}
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
        assert offsets() == [0, 1]
        for where in (50, 3, 98, 0):
            c.seek(ONE, where)
            assert c.position(ONE) == where
            assert offsets() == [where, where + 1]
        c.seek_to_end(ONE)
        assert c.position(ONE) == 100
        c.seek_to_beginning()
        assert offsets() == [0, 1]


@pytest.mark.parametrize("how", ["seek", "pause"])
def test_an_answer_that_comes_after_all(face, kafka, how):
    """It was asked for before the position changed (trap 100)."""
    fill(kafka, 30)
    consumer = face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=20)
    with consumer as c, kafka.hold("Fetch", times=1) as barrier:
        c.assign([ONE])
        while not barrier.held:
            assert c.poll(timeout=0.05) == []
        if how == "seek":
            c.seek(ONE, 15)
            barrier.release()
            assert c.poll(timeout=SOON)[0].offset == 15
        else:
            c.pause(ONE)
            barrier.release()
            assert c.poll(timeout=0.4) == []
            assert c.position(ONE) == 0
            c.resume(ONE)
            assert c.poll(timeout=SOON)[0].offset == 0


def test_seek_refuses_what_is_no_offset(face, kafka):
    with face.Consumer(bootstrap_servers=kafka.bootstrap) as c:
        with pytest.raises(ConfigurationError, match="not assigned"):
            c.seek(ONE, 0)
        c.assign([ONE])
        for where in (-1, "noon", "tail:", "tail:-1", "tail:x"):
            with pytest.raises(ConfigurationError):
                c.seek(ONE, where)


def test_assign_replaces_and_keeps(face, kafka):
    for partition in range(3):
        fill(kafka, 10, "many", partition)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        c.assign([("many", 0), ("many", 1)])
        first = take(c, 20, max_records=5)
        assert {m.partition for m in first} == {0, 1}
        c.seek(("many", 1), 4)
        c.assign([TopicPartition("many", 1), TopicPartition("many", 2)])
        assert c.assignment() == {("many", 1), ("many", 2)}
        found = take(c, 16)
        assert sorted((m.partition, m.offset) for m in found) == [(1, i) for i in range(4, 10)] + [(2, i) for i in range(10)]
        c.assign([])
        with pytest.raises(ConfigurationError, match="nothing to read"):
            c.poll(timeout=0.01)


def test_pause_and_resume(face, kafka):
    for partition in range(2):
        fill(kafka, 50, "many", partition)
    a, b = TopicPartition("many", 0), TopicPartition("many", 1)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        c.assign([a, b])
        found = take(c, 10, max_records=10)
        c.pause(a)
        c.pause(a)
        assert c.paused() == {a}
        position = c.position(a)
        found += take(c, 50 - sum(m.partition == 1 for m in found), max_records=7)
        assert c.poll(timeout=0.05) == []
        assert c.position(a) == position
        c.resume(a)
        assert c.paused() == set()
        found += take(c, 100 - len(found))
    for partition in range(2):
        assert [m.offset for m in found if m.partition == partition] == list(range(50))


def test_offsets(face, kafka):
    for i in range(10):
        kafka.produce("many", b"v", partition=1, timestamp=1000 + i * 100)
    asked = [("many", 0), ("many", 1)]
    options = {"auto_offset_reset": "earliest", "retry_backoff_ms": 10, "retry_backoff_max_ms": 10}
    with face.Consumer(bootstrap_servers=kafka.bootstrap, **options) as c:
        assert c.beginning_offsets(asked) == {("many", 0): 0, ("many", 1): 0}
        assert c.end_offsets(asked) == {("many", 0): 0, ("many", 1): 10}
        times = {("many", 1): 1250, ("many", 0): 0}
        assert c.offsets_for_times(times) == {("many", 1): (3, 1300), ("many", 0): None}
        assert c.offsets_for_times({("many", 1): 1900})["many", 1].offset == 9
        assert c.offsets_for_times({("many", 1): 1901}) == {("many", 1): None}
        with pytest.raises(ConfigurationError):
            c.offsets_for_times({("many", 1): -1})
        for call in (c.end_offsets, c.beginning_offsets):
            with pytest.raises(UnknownTopicError, match="no partition 9"):
                call([("many", 9)])
            with pytest.raises(UnknownTopicError, match="'nope'"):
                call([("nope", 0)])
        assert c.end_offsets([]) == {}
        c.assign(asked)
        take(c, 4, max_records=4)
        assert c.lag() == {("many", 0): 0, ("many", 1): 6}


def test_one_fetch(face, kafka):
    fill(kafka, 30)
    options = {"fetch_max_wait_ms": 10, "retry_backoff_ms": 10, "retry_backoff_max_ms": 10}
    with face.Consumer(bootstrap_servers=kafka.bootstrap, **options) as c:
        assert [m.offset for m in c.fetch("one", 0, 17)] == list(range(17, 30))
        assert [m.offset for m in c.fetch("one", 0, 17, max_bytes=1)] == [17, 18, 19]
        assert c.fetch("one", 0, 30) == []
        with pytest.raises(OffsetOutOfRangeError, match="31"):
            c.fetch("one", 0, 31)
        with pytest.raises(UnknownTopicError, match="no partition 7"):
            c.fetch("one", 7, 0)
        with pytest.raises(UnknownTopicError, match="nope"):
            c.fetch("nope", 0, 0)
        assert c.assignment() == set()


def test_one_fetch_beside_a_waiting_one(face, kafka):
    """The fetch that runs ahead has a link of its own: a broker answers a link in order."""
    fill(kafka, 3)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=60_000) as c:
        take(c, 3)
        c.poll(timeout=0.05)
        assert len(c.fetch("one", 0, 1, timeout=SOON)) == 2


def test_new_partitions_are_read_from_their_beginning(face, kafka):
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, metadata_max_age_ms=50) as c:
        assert c.position(("one", 0)) == 0  # so it knows the partitions that are there now
        kafka.call(lambda: grow(kafka.cluster, "one", 3))
        fill(kafka, 10, "one", 2)
        assert [(m.partition, m.offset) for m in take(c, 10)] == [(2, i) for i in range(10)]


def grow(cluster, name, count):
    topic = cluster.topic(name)
    for index in range(len(topic.partitions), count):
        topic.partitions.append(Partition(topic, index, [1], PartitionLog([])))
        topic.partitions[index].elect(1)


@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_a_position_that_is_not_there(face, kafka, reset):
    fill(kafka, 10)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset=reset) as c:
        c.assign([ONE])
        c.seek(ONE, 1000)
        if reset == "none":
            for _ in range(2):
                with pytest.raises(OffsetOutOfRangeError, match=r"offset 1000.*seek"):
                    c.poll(timeout=SOON)
            c.seek(ONE, 9)
            assert [m.offset for m in c.poll(timeout=SOON)] == [9]
            return
        threading.Timer(0.5, fill, (kafka, 1), {"start": 10}).start()
        first = 0 if reset == "earliest" else 10
        assert [m.offset for m in take(c, 11 - first)] == list(range(first, 11))


def test_without_a_reset_the_start_must_be_said(face, kafka):
    fill(kafka, 3)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="none") as c:
        for _ in range(2):
            with pytest.raises(OffsetOutOfRangeError, match="auto_offset_reset is 'none': seek first"):
                c.poll(timeout=SOON)
        c.seek(ONE, 1)
        assert len(take(c, 2)) == 2

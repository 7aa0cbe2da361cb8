"""A consumer that was just made: what it may be made of, and every call before it knows its partitions."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire.errors import ConfigurationError, UnknownTopicError
from kafkawire.message import TopicPartition
from tests.client.faces import SOON

ONE = TopicPartition("one", 0)


def fill(kafka, topic="one", partitions=(0,)):
    for partition in partitions:
        kafka.produce(topic, *[b"%d" % i for i in range(10)], partition=partition)


def read(consumer, count):
    found: list[Any] = []
    while len(found) < count:
        polled = consumer.poll(timeout=SOON)
        assert polled
        found += polled
    return [m.offset for m in found]


def test_topics_come_as_names_or_lists(face, kafka):
    fill(kafka)
    fill(kafka, "many", range(4))
    for topics in (("one", "many"), (["one", "many"],), (("one",), "many", "one"), ({"one", "many"},)):
        with face.Consumer(*topics, bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
            assert len(read(c, 50)) == 50


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        (
            ({"bootstrap.servers": "localhost:1", "sasl.password": "swordfish"},),
            r"Consumer\('topic', bootstrap_servers=.*from_pr",
        ),
        ((5,), r"one is of the type int"),
        ((b"one",), "one is of the type bytes"),
        ((["one", 5],), "one is of the type int"),
        (([["one"]],), "one is of the type list"),
        (("",), "one is an empty text"),
        ((None,), "one is of the type NoneType"),
    ],
)
def test_what_is_no_topic_is_refused_at_once(face, topics, text):
    with pytest.raises(ConfigurationError, match=text) as caught:
        face.Consumer(*topics)
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize("partition", ["one", ("one",), ("one", "0"), (0, "one"), ("one", 0, 5), None, 5])
def test_what_is_no_partition_is_refused_at_once(face, kafka, partition):
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap) as c:
        for call in (c.pause, c.resume, c.position, c.seek_to_end, lambda tp: c.seek(tp, 0), lambda tp: c.assign([tp])):
            with pytest.raises(ConfigurationError, match=r"is not a partition: give \(topic, number\)"):
                call(partition)


@pytest.mark.parametrize("after", ["nothing", "assign"])
def test_nothing_to_read_is_an_error(face, kafka, after):
    for options in ({}, {"stop_at_end": True}, {"consumer_timeout_ms": 10}):
        with face.Consumer(bootstrap_servers=kafka.bootstrap, **options) as c:
            if after == "assign":
                c.assign([ONE])
                c.assign([])
            for call in (
                c.poll,
                c.poll_arrow,
                lambda c=c: next(iter(c)),
                lambda c=c: c.poll(timeout=SOON),
                c.seek_to_beginning,
                c.seek_to_end,
            ):
                with pytest.raises(ConfigurationError, match=r"nothing to read: name topics.*or call assign"):
                    call()


@pytest.mark.parametrize(("where", "reset"), [("beginning", "latest"), ("beginning", "none"), ("end", "earliest")])
@pytest.mark.parametrize("named", [True, False])
def test_seek_to_an_end_before_the_first_poll(face, kafka, where, reset, named):
    fill(kafka)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset=reset) as c:
        getattr(c, f"seek_to_{where}")(*[ONE] * named)
        assert c.position(ONE) == (0 if where == "beginning" else 10)
        fill(kafka)
        assert read(c, 1)[0] == (0 if where == "beginning" else 10)


def test_seeks_before_the_first_poll_follow_one_another(face, kafka):
    fill(kafka, "many", range(4))
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap) as c:
        c.seek(("many", 1), 2)
        c.seek_to_beginning()
        c.seek(("many", 2), 7)
        c.seek(("many", 3), "tail:1")
        c.pause(("many", 0))
        assert c.paused() == {("many", 0)}
        offsets = read(c, 14)
        assert len(c.assignment()) == 4
        assert sorted(offsets) == sorted([*range(10), 7, 8, 9, 9])
        c.resume(("many", 0))
        assert read(c, 10) == list(range(10))


def test_positions_and_lag_before_the_first_poll(face, kafka):
    fill(kafka, "many", range(4))
    options = {"bootstrap_servers": kafka.bootstrap, "auto_offset_reset": "earliest"}
    with face.Consumer("many", **options) as c:
        assert c.position(("many", 3)) == 0
    with face.Consumer("many", **options) as c:
        assert c.lag() == {("many", i): 10 for i in range(4)}


def test_a_partition_that_the_topic_does_not_have(face, kafka):
    fill(kafka)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        c.seek(("one", 9), 5)
        with pytest.raises(ConfigurationError, match="many partition 0 is not assigned"):
            c.seek(("many", 0), 5)
        with pytest.raises(UnknownTopicError, match="'one' has no partition 9"):
            c.poll(timeout=SOON)
        assert read(c, 10) == list(range(10))


def test_close_takes_a_timeout_and_may_be_called_again(face, kafka):
    c = face.Consumer("one", bootstrap_servers=kafka.bootstrap)
    c.poll()
    c.close(timeout=5)
    c.close(5)
    c.close()


def test_what_was_paused_before_the_topics_were_known_is_forgotten_with_them(face, kafka):
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap) as c:
        c.pause(("many", 0))
        assert c.paused() == {("many", 0)}
        c.assign([("one", 0)])
        assert c.paused() == set()
        c.assign([("many", 0)])
        assert c.paused() == set()

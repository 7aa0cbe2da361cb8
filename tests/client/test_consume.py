"""Polling: messages and Arrow batches, limits, deserializers, errors, closing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import kafkawire
from kafkawire.errors import (
    ClosedError,
    ConcurrentUseError,
    DeserializationError,
)
from tests.client.faces import SOON
from tests.client.records import ONE, fill, take


def test_the_topics_of_the_constructor_are_read_whole(face, kafka):
    for partition in range(4):
        fill(kafka, 25, "many", partition)
    fill(kafka, 5)
    with face.Consumer("many", "one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        found = take(c, 105)
        assert c.assignment() == {("many", 0), ("many", 1), ("many", 2), ("many", 3), ("one", 0)}
        assert c.poll() == []
    for topic, partition, count in [*(("many", i, 25) for i in range(4)), ("one", 0, 5)]:
        values = [m.value for m in found if (m.topic, m.partition) == (topic, partition)]
        assert values == [b"%d" % i for i in range(count)]


def test_a_message_says_everything(face, kafka):
    kafka.produce("many", b"value", key=b"key", partition=2, timestamp=1234, headers=[("h", None)])
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        (message,) = take(c, 1)
    assert message == ("many", 2, 0, 1234, 0, b"key", b"value", (("h", None),), 0)
    assert (message.payload, message.next_offset) == (b"value", 1)


def test_the_default_is_what_comes_from_now_on(face, kafka):
    fill(kafka, 10)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap) as c:
        assert c.poll(timeout=0.2) == []
        assert c.position(ONE) == 10
        fill(kafka, 5, start=10)
        assert [m.offset for m in take(c, 5)] == [10, 11, 12, 13, 14]


def test_a_poll_wakes_when_records_come(face, kafka):
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        c.assign([ONE])
        assert c.position(ONE) == 0
        timer = threading.Timer(0.1, fill, (kafka, 1))
        timer.start()
        assert [m.value for m in c.poll(timeout=SOON)] == [b"0"]
        timer.join()


def test_limits_of_a_poll(face, kafka):
    fill(kafka, 100)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", max_poll_records=7) as c:
        assert len(c.poll(timeout=SOON)) == 7
        assert len(c.poll(timeout=SOON, max_records=1)) == 1
        assert c.position(ONE) == 8
        assert [m.offset for m in take(c, 92, max_records=23)] == list(range(8, 100))


def test_poll_arrow(face, kafka):
    kafka.produce("many", b"a", None, partition=1, key=b"k", timestamp=1000, headers=[("h", b"1"), ("h", None)])
    kafka.produce("many", b"c", partition=3, timestamp=2000)
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        rows: list[Any] = []
        batch = c.poll_arrow()
        while len(rows) < 3:
            batch = c.poll_arrow(timeout=SOON, headers=True)
            rows += batch.to_pylist()
        empty = c.poll_arrow()
    rows.sort(key=lambda row: (row["partition"], row["offset"]))
    assert [row["value"] for row in rows] == [b"a", None, b"c"]
    assert [row["key"] for row in rows] == [b"k", b"k", None]
    assert [(row["topic"], row["partition"], row["offset"], row["timestamp_type"]) for row in rows] == [
        ("many", 1, 0, 0),
        ("many", 1, 1, 0),
        ("many", 3, 0, 0),
    ]
    assert [row["timestamp"].timestamp() for row in rows] == [1, 1, 2]
    assert [[tuple(header.values()) for header in row["headers"] or ()] for row in rows] == [[("h", b"1"), ("h", None)]] * 2 + [
        []
    ]
    assert empty.num_rows == 0
    types = {field.name: str(field.type) for field in empty.schema}
    assert types == {
        "key": "binary",
        "value": "binary",
        "topic": "string",
        "partition": "int32",
        "offset": "int64",
        "timestamp": "timestamp[us, tz=UTC]",
        "timestamp_type": "int32",
    }
    assert batch.schema.names[:-1] == empty.schema.names
    assert all(field.nullable for field in empty.schema)


def test_poll_arrow_in_pieces(face, kafka):
    fill(kafka, 100, batch=9)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        offsets: list[int] = []
        while len(offsets) < 100:
            batch = c.poll_arrow(timeout=SOON, max_records=7)
            assert 0 < batch.num_rows <= 7
            offsets += batch.column("offset").to_pylist()
            assert c.position(ONE) == offsets[-1] + 1
    assert offsets == list(range(100))


def test_deserializers_and_a_poison_record(face, kafka):
    kafka.produce("one", "1", "2", "poison", "4", None)
    options = {"auto_offset_reset": "earliest", "value_deserializer": int, "key_deserializer": bytes.decode}
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
        assert [m.value for m in c.poll(timeout=SOON)] == [1, 2]
        for read in (lambda: list(c), lambda: c.poll(timeout=SOON)):
            with pytest.raises(DeserializationError, match=r"one partition 0 at offset 2: .*seek to 3"):
                read()
            assert c.position(ONE) == 2
        with pytest.raises(DeserializationError) as caught:
            c.poll(timeout=SOON)
        assert caught.value.message.value == b"poison"
        c.seek(ONE, caught.value.message.next_offset)
        assert [m.value for m in take(c, 2)] == [4, None]


def test_use_after_close(face, kafka):
    fill(kafka, 100)
    c = face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
    assert len(c.poll(timeout=SOON, max_records=1)) == 1
    for _ in c:
        break
    c.close()
    c.close()
    for call in (
        c.poll,
        c.poll_arrow,
        lambda: next(iter(c)),
        lambda: c.assign([]),
        lambda: c.seek(ONE, 0),
        lambda: c.position(ONE),
    ):
        with pytest.raises(ClosedError, match="make a new one"):
            call()
    with pytest.raises(ClosedError):
        c.end_offsets([ONE])


def test_one_thread_at_a_time(kafka):
    with kafkawire.Consumer("one", bootstrap_servers=kafka.bootstrap) as c:
        errors = []

        def intrude():
            kafka.journal.wait_for("Fetch")
            for call in (
                c.poll,
                c.poll_arrow,
                lambda: next(iter(c)),
                lambda: c.seek(ONE, 0),
                lambda: c.assign([]),
                lambda: c.pause(ONE),
            ):
                try:
                    call()
                except ConcurrentUseError as error:
                    errors.append(error)
            fill(kafka, 1)

        thread = threading.Thread(target=intrude)
        thread.start()
        assert len(c.poll(timeout=SOON)) == 1
        thread.join()
        assert len(errors) == 6
        assert "give each its own" in str(errors[0])
        fill(kafka, 1)
        assert len(c.poll(timeout=SOON)) == 1

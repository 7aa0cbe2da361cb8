"""Reading by polling: where it starts, what it returns, and how it is steered."""

from __future__ import annotations

import threading
from struct import pack_into
from typing import Any

import pytest

import kafkawire
from kafkawire.errors import (
    BrokerError,
    ClosedError,
    ConcurrentUseError,
    ConfigurationError,
    CorruptRecordsError,
    DeserializationError,
    ErrorCode,
    OffsetOutOfRangeError,
    UnknownTopicError,
)
from kafkawire.message import TopicPartition
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records import encode_record, seal_batch
from mockbroker.state.log import Batch
from mockbroker.state.topics import Partition
from tests.client.faces import SOON

ONE = TopicPartition("one", 0)


def fill(kafka, count, topic="one", partition=0, *, batch=10, start=0):
    """Records b"0", b"1", ... in batches of ten."""
    values = [b"%d" % i for i in range(start, start + count)]
    for at in range(0, count, batch):
        kafka.produce(topic, *values[at : at + batch], partition=partition)
    return values


def take(consumer, count, **options):
    """As many records as that, in however many polls."""
    found: list[Any] = []
    while len(found) < count:
        polled = consumer.poll(timeout=SOON, **options)
        assert polled, f"only {len(found)} of {count} records came"
        found += polled
    assert len(found) == count
    return found


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
    """What was fetched for the old position is not returned (trap 100)."""

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


def test_both_leaders_of_a_move_are_asked_and_one_is_heard(face, kafka):
    """The answer of the old one comes when that of the new one has been taken in."""
    fill(kafka, 30)
    old = kafka.leader("one", 0)
    with (
        face.Connection(kafka.bootstrap) as connection,
        face.Consumer(connection=connection, auto_offset_reset="earliest", fetch_max_wait_ms=20) as c,
        kafka.hold("Fetch", when="after", broker=old) as barrier,
    ):
        c.assign([ONE])
        while not barrier.held:
            assert c.poll(timeout=0.05) == []
        kafka.move_leader("one", 0, 3 - old)
        connection.refresh(timeout=SOON)
        found = c.poll(timeout=SOON)
        barrier.release()
        found += c.poll(timeout=0.4)
    assert [m.offset for m in found] == list(range(30))


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


def test_two_consumers_on_one_connection(face, kafka):
    """Neither waits behind the long fetch of the other."""
    fill(kafka, 3)
    with face.Connection(kafka.bootstrap) as connection:
        options = {"connection": connection, "fetch_max_wait_ms": 60_000, "auto_offset_reset": "earliest"}
        with face.Consumer("one", **options) as a, face.Consumer("one", **options) as b:
            take(a, 3)
            a.poll(timeout=0.05)
            take(b, 3)
            b.poll(timeout=0.05)
            b.close()
            fill(kafka, 1)
            take(a, 1)


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


def test_ways_of_reading_mix(face, kafka):
    """Each goes on where the other stopped."""
    fill(kafka, 100)
    offsets: list[int] = []
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        while len(offsets) < 100:
            for message in c:
                offsets.append(message.offset)
                if len(offsets) % 5 == 0:
                    break
            assert c.position(ONE) == len(offsets)
            if len(offsets) < 100:
                offsets += c.poll_arrow(timeout=SOON, max_records=3).column("offset").to_pylist()
            if len(offsets) < 100:
                offsets += [m.offset for m in c.poll(timeout=SOON, max_records=2)]
            assert c.position(ONE) == len(offsets)
    assert offsets == list(range(100))


def test_iteration_stops_at_the_end_that_it_found(face, kafka):
    for partition in (0, 2):
        fill(kafka, 20, "many", partition)
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert len(list(c)) == 40
        assert list(c) == []
        fill(kafka, 5, "many", 1)
        assert [m.offset for m in c] == list(range(5))


def test_iteration_of_nothing_stops(face, kafka):
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, stop_at_end=True) as c:
        assert list(c) == []


def test_iteration_stops_after_silence(face, kafka):
    fill(kafka, 20)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=300) as c:
        assert len(list(c)) == 20
        assert list(c) == []


def test_breaking_off_loses_nothing(face, kafka):
    fill(kafka, 50)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        offsets: list[int] = []
        while len(offsets) < 50:
            for message in c:
                offsets.append(message.offset)
                if len(offsets) % 7 == 0:
                    break
    assert offsets == list(range(50))


def test_trap_31_32_33_gaps_and_empty_batches_are_passed(face, kafka):
    """Positions come from batches: the last records of one may be gone."""
    kafka.call(lambda: append_compacted(kafka, kept=(0, 7), last=9))
    kafka.call(lambda: append_compacted(kafka, kept=(), last=4))
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert [m.offset for m in c] == [0, 7]
        assert c.position(ONE) == 15
    with face.Consumer(bootstrap_servers=kafka.bootstrap) as c:
        c.assign([ONE])
        c.seek(ONE, 8)
        assert c.poll_arrow(timeout=0.2).num_rows == 0
        assert c.position(ONE) == 15


def append_compacted(kafka, kept, last, **sealing):
    """Put a batch into the log as compaction leaves it: with gaps, up to the offset of a record that is gone."""
    log = kafka.cluster.partition("one", 0).log
    parts = [encode_record(delta, 0, None, b"v") for delta in kept]
    data = bytearray(seal_batch(parts, count=len(kept), base_timestamp=0, max_timestamp=0, **sealing))
    pack_into(">q", data, 0, log.end)
    pack_into(">i", data, 23, last)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    log.append(Batch(bytes(data), log.end + last, 0))


def test_trap_79_control_batches_are_passed(face, kafka):
    fill(kafka, 2)
    kafka.call(lambda: append_compacted(kafka, kept=(0,), last=0, control=True, transactional=True))
    fill(kafka, 1, start=3)
    kafka.call(lambda: append_compacted(kafka, kept=(0,), last=0, control=True, transactional=True))
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert [m.offset for m in c] == [0, 1, 3]
        assert c.position(ONE) == 5
        c.seek(ONE, 2)
        assert [m.offset for m in c.poll(timeout=SOON)] == [3]
        assert [m.offset for m in c.fetch("one", 0, 1)] == [1, 3]


def test_trap_43_what_unpacks_to_too_much_is_refused(face, kafka):
    """A limit for each batch: one that is over it by itself hides none of the others."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, compression_type="gzip") as p:
        for size in (900, 900, 5000, 900):
            p.send("one", bytes(size)).result(timeout=SOON)
    options = {"auto_offset_reset": "earliest", "max_decompressed_bytes": 1000, "bootstrap_servers": kafka.bootstrap}
    for read in ("poll", "poll_arrow"):
        with face.Consumer("one", **options) as c:
            found = sum(len(getattr(c, read)(timeout=SOON, max_records=1)) for _ in range(2))
            assert found == 2
            with pytest.raises(CorruptRecordsError, match=r"partition 0 at offset 2: .* more than 1000 bytes.*seek past it"):
                getattr(c, read)(timeout=SOON)
            c.seek(ONE, 3)
            assert len(getattr(c, read)(timeout=SOON)) == 1
            with pytest.raises(CorruptRecordsError, match="more than 1000 bytes"):
                c.fetch("one", 0, 2)


def test_new_partitions_are_read_from_their_beginning(face, kafka):
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, metadata_max_age_ms=50) as c:
        assert c.position(("one", 0)) == 0  # so it knows the partitions that are there now
        kafka.call(lambda: grow(kafka.cluster, "one", 3))
        fill(kafka, 10, "one", 2)
        assert [(m.partition, m.offset) for m in take(c, 10)] == [(2, i) for i in range(10)]


def grow(cluster, name, count):
    topic = cluster.topic(name)
    for index in range(len(topic.partitions), count):
        topic.partitions.append(Partition(topic, index, [1]))
        topic.partitions[index].elect(1)


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


def test_the_next_fetch_is_on_its_way_while_records_are_used(face, kafka):
    fill(kafka, 10)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        take(c, 1, max_records=1)
        c.poll(timeout=SOON, max_records=1)
        assert [e.request.topics[0].partitions[0].fetch_offset for e in kafka.journal.wait_for("Fetch", count=2)][:2] == [0, 10]


def test_stop_at_end_does_not_wait_for_paused_partitions(face, kafka):
    """Nobody but the iterating thread could resume them. Iteration goes on where it was once they are."""
    fill(kafka, 3, "many", 0)
    fill(kafka, 2, "many", 1)
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        c.pause(("many", 0))
        assert [m.partition for m in c] == [1, 1]
        c.resume(("many", 0))
        seen = []
        for message in c:
            seen.append(message.offset)
            if message.offset == 1:
                c.pause(("many", 0))
        assert seen == [0, 1]
        c.resume(("many", 0))
        assert [m.offset for m in c] == [2]


def test_what_runs_ahead_is_bounded(face, kafka):
    for _ in range(20):
        kafka.produce("one", bytes(50_000))
    options = {"fetch_max_bytes": 100_000, "max_partition_fetch_bytes": 50_000, "auto_offset_reset": "earliest"}
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
        assert len(take(c, 20, max_records=1)) == 20
        kafka.journal.clear()
        c.seek(ONE, 0)
        take(c, 1, max_records=1)
        for _ in range(3):
            c.poll(timeout=0, max_records=0)
        assert len(kafka.journal.requests("Fetch")) <= 4


def test_paused_partitions_are_not_fetched(face, kafka):
    fill(kafka, 10, "many", 0)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=10) as c:
        c.assign([("many", 0), ("many", 1)])
        c.pause(("many", 0))
        assert c.poll(timeout=0.2) == []
        asked = [p.partition for e in kafka.journal.requests("Fetch") for t in e.request.topics for p in t.partitions]
        assert set(asked) == {1}


def test_no_partition_starves_the_others(face, kafka):
    """Each answer has room for one batch only; whose turn it is goes round (trap 99)."""
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_bytes=3000) as c:
        for partition in range(4):
            kafka.move_leader("many", partition, 1)
            for _ in range(10):
                kafka.produce("many", bytes(2500), partition=partition)
        c.assign([("many", partition) for partition in range(4)])
        order = [m.partition for m in take(c, 40, max_records=1)]
    for at in range(0, 32, 4):
        assert len(set(order[at : at + 4])) == 4, order


@pytest.mark.parametrize("code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_errors_for_good_come_out_and_reading_goes_on(face, kafka, code):
    fill(kafka, 5)
    fault = kafka.fail("Fetch", code)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        with pytest.raises(BrokerError, match="one partition 0") as caught:
            c.poll(timeout=SOON)
        assert caught.value.error is code
        fault.clear()
        assert len(take(c, 5)) == 5


def test_an_error_is_not_put_off_by_records_of_others(face, kafka, monkeypatch):
    """There may be some at every call, for ever."""
    monkeypatch.setattr("kafkawire.core.consume.flows.ERROR_WAITS", 0.0)
    kafka.move_leader("many", 0, kafka.leader("one", 0))
    fill(kafka, 1000, "many")
    kafka.fail("Fetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="one")
    with face.Consumer("one", "many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        rows: list[int] = []
        with pytest.raises(BrokerError, match="one partition 0"):
            rows.extend(iter(lambda: c.poll_arrow(timeout=SOON, max_records=1).num_rows, 0))
        assert 0 < len(rows) < 1000

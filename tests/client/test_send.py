"""What a producer takes, and what comes of it."""

from __future__ import annotations

import random
import threading
import time
from typing import Any
from zlib import crc32

import pytest

import kafkawire
from kafkawire.errors import (
    BrokerError,
    ClosedError,
    ConfigurationError,
    DeliveryError,
    ErrorCode,
    MessageTooLargeError,
    TimedOut,
)
from kafkawire.protocol.murmur2 import murmur2
from tests import bare
from tests.client.faces import SOON

KEYS = [b"", b"kafka", b"21", b"foobar", b"a-little-bit-long-string", b"a-little-bit-longer-string", b"AA", "ключ".encode()]


def stored(kafka, topic, partition=None):
    return [message.value for message in kafka.messages(topic, partition)]


def test_a_record_arrives_as_it_was_sent(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        d = p.send(
            "many", b"value", key=b"key", partition=2, timestamp=1_234_567, headers=[("h", b"1"), ("h", None), ("", b"")]
        )
        metadata = d.result(timeout=SOON)
        assert d.done()
        assert d.exception() is None
    assert metadata == ("many", 2, 0, 1_234_567)
    (message,) = kafka.messages("many", 2)
    assert message[2:7] == (0, 1_234_567, 0, b"key", b"value")
    assert message.headers == (("h", b"1"), ("h", None), ("", b""))


@pytest.mark.parametrize(
    ("key", "value"), [(None, None), (b"", b""), (b"k", None), (None, b"v"), (bytes(range(256)), b"x" * 70_000)]
)
def test_trap_19_null_is_not_empty(face, kafka, key, value):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send("one", value, key)
    (message,) = kafka.messages("one")
    assert (message.key, message.value) == (key, value)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_any_kind(face, kafka, kind):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send("one", kind(b"value"))
        p.send("one", kind(b"value"), kind(b"key"))
        p.send_many("one", [kind(b"value")], [kind(b"key")])
        p.flush(timeout=SOON)
    assert [(m.key, m.value) for m in kafka.messages("one")] == [(None, b"value"), (b"key", b"value"), (b"key", b"value")]


def test_the_time_of_a_record_is_that_of_its_sending(face, kafka):
    before = int(time.time() * 1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        deliveries = [p.send("one", b"v", key) for key in (None, b"k", None)]
        p.flush(timeout=SOON)
        after = int(time.time() * 1000)
        times = [d.result().timestamp for d in deliveries]
    assert [message.timestamp for message in kafka.messages("one")] == times
    assert before <= times[0] <= times[1] <= times[2] <= after


def test_explicit_times_and_the_clock_mix(face, kafka):
    """The next record without a time gets the clock's, not that of the record before it."""
    before = int(time.time() * 1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        given = [5, None, None, before + 600_000, None, 0]
        deliveries = [p.send("one", b"v", b"k" if i % 2 else None, timestamp=t) for i, t in enumerate(given)]
        p.flush(timeout=SOON)
        reported = [d.result().timestamp for d in deliveries]
    after = int(time.time() * 1000)
    assert [message.timestamp for message in kafka.messages("one")] == reported
    for asked, got in zip(given, reported, strict=True):
        assert got == asked or (asked is None and before <= got <= after)


def test_trap_34_a_batch_says_its_true_latest_time(face, kafka):
    """Brokers index by it, and expire by it."""
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send_many("one", [b"a", b"b"], timestamps=[1000, 500])
    with face.Consumer(bootstrap_servers=kafka.bootstrap) as c:
        assert c.offsets_for_times({("one", 0): 1001}) == {("one", 0): None}


def test_trap_35_the_broker_may_set_the_time(face, kafka):
    kafka.create_topic("stamped", message_timestamp_type="LogAppendTime")
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        metadata = p.send("stamped", b"v", timestamp=5).result(timeout=SOON)
    (message,) = kafka.messages("stamped")
    assert metadata.timestamp == message.timestamp > 5


def test_keys_go_where_java_sends_them(face, kafka):
    assert [murmur2(key) for key in (b"", b"kafka")] == [0x106E08D9, 0xD067CF64 & 0x7FFFFFFF]
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        single = [p.send("many", b"v", key).result(timeout=SOON).partition for key in KEYS]
        many = [m.partition for m in p.send_many("many", [b"v"] * len(KEYS), KEYS).result(timeout=SOON)]
    assert single == many == [murmur2(key) % 4 for key in KEYS]


def test_a_partitioner_of_ones_own(face, kafka):
    asked = []

    def last(key, partitions):
        asked.append((key, partitions))
        return partitions - 1

    with face.Producer(bootstrap_servers=kafka.bootstrap, partitioner=last) as p:
        p.send("many", b"v")
        p.send("many", b"v", b"key")
        p.send("many", b"v", partition=0)
        p.send_many("many", [b"v", b"v"], [None, b"key"])
        p.flush(timeout=SOON)
    assert len(kafka.messages("many", 3)) == 4
    assert asked == [(None, 4), (b"key", 4)] * 2


def test_librdkafkas_partitioner(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, partitioner="consistent") as p:
        assert [p.send("many", b"v", key).result(timeout=SOON).partition for key in KEYS] == [crc32(key) % 4 for key in KEYS]


def test_records_without_key_stay_together_and_move_on(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        rounds = []
        for _ in range(5):
            deliveries = [p.send("many", b"v") for _ in range(10)]
            p.flush(timeout=SOON)
            rounds.append({d.result().partition for d in deliveries})
    assert all(len(partitions) == 1 for partitions in rounds)
    assert len(set.union(*rounds)) == 4


def test_callbacks_get_every_outcome_in_order(face, kafka):
    seen = []
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for i in range(100):
            p.send("one", b"%d" % i, on_delivery=lambda error, metadata: seen.append((error, metadata.offset)))
        p.flush(timeout=SOON)
        p.send("small", bytes(2000), on_delivery=lambda error, metadata: seen.append((type(error), metadata)))
    assert seen == [*((None, i) for i in range(100)), (MessageTooLargeError, None)]


def test_a_callback_that_raises_stops_no_other(face, kafka, caplog):
    seen = []

    def fails(_error, _metadata):
        raise ValueError("of the test")

    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for _ in range(3):
            p.send("one", b"v", on_delivery=fails)
            p.send("one", b"v", on_delivery=lambda _, metadata: seen.append(metadata.offset))
    assert seen == [1, 3, 5]
    assert caplog.text.count("ValueError: of the test") == 3


def test_send_many(face, kafka):
    values = [b"%d" % i for i in range(1000)]
    keys = [b"%d" % (i % 7) for i in range(1000)]
    headers = [[("n", b"%d" % i)] if i % 2 else None for i in range(1000)]
    times = [1000 + i for i in range(1000)]
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        sent = p.send_many("many", values, keys, timestamps=times, headers=headers)
        written = sent.result(timeout=SOON)
        assert sent.done()
    found = {(m.partition, m.offset): m for m in kafka.messages("many")}
    assert len(found) == len(written) == 1000
    for i, metadata in enumerate(written):
        message = found[metadata.partition, metadata.offset]
        assert (
            (message.value, message.key, message.timestamp)
            == (values[i], keys[i], metadata.timestamp)
            == (values[i], keys[i], times[i])
        )
        assert message.headers == ((("n", b"%d" % i),) if i % 2 else ())


def test_send_many_to_one_partition(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        written = p.send_many("many", [b"a", None, b""], partition=3).result(timeout=SOON)
        assert p.send_many("many", []).result(timeout=SOON) == []
    assert [(m.partition, m.offset) for m in written] == [(3, 0), (3, 1), (3, 2)]
    assert stored(kafka, "many", 3) == [b"a", None, b""]


@pytest.mark.parametrize(
    "columns",
    [
        {"keys": [b"k"]},
        {"timestamps": [1, 2, 3]},
        {"headers": []},
        {"keys": ["text", b"k"]},
        {"values": [b"v", 1]},
        {"timestamps": [1, "2"]},
        {"timestamps": [1, None]},
        {"headers": [None, [(b"name", b"")]]},
        {"headers": [None, [("name", "text")]]},
        {"partition": 4},
        {"partition": -1},
    ],
    ids=str,
)
def test_columns_are_checked_before_anything_is_accepted(face, kafka, columns):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises(ConfigurationError):
            p.send_many("many", **{"values": [b"v", b"w"], **columns})
        assert p.counts().accepted == 0


def test_the_rows_that_failed_are_named(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, retries=0) as p:
        p.send("many", b"first", partition=0).result(timeout=SOON)
        kafka.fail("Produce", ErrorCode.INVALID_RECORD, topic="many", partition=murmur2(b"bad") % 4)
        good = next(k for k in (b"%d" % i for i in range(100)) if murmur2(k) % 4 != murmur2(b"bad") % 4)
        sent = p.send_many("many", [b"v"] * 4, [b"bad", good, b"bad", good])
        with pytest.raises(DeliveryError) as caught:
            sent.result(timeout=SOON)
        counts = p.counts()
    assert set(caught.value.failed) == {0, 2}
    assert {type(error) for error in caught.value.failed.values()} == {BrokerError}
    assert counts == (5, 3, 2, 0)


def test_send_arrow(face, kafka):
    pa = bare.package("pyarrow")
    table = pa.table(
        {
            "value": pa.array([b"a", None, b"c", b"d"]),
            "key": pa.array(["x", None, "z", ""]),
            "partition": pa.array([1, None, 1, 2], pa.int32()),
            "timestamp": pa.array([1_000_000, 2_000_000, 3_000_000, 4_000_000], pa.timestamp("us", "UTC")),
            "headers": pa.array(
                [[{"key": "h", "value": b"1"}], None, [], [{"key": "h", "value": None}]],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        written = p.send_arrow("many", table).result(timeout=SOON)
        plain = p.send_arrow("one", table.select(["value"]).to_batches()[0]).result(timeout=SOON)
        assert p.send_arrow("one", table.slice(0, 0)).result(timeout=SOON) == []
    assert [m.partition for m in written][0::2] == [1, 1]
    assert written[3].partition == 2
    assert [m.timestamp for m in written] == [1000, 2000, 3000, 4000]
    found = {(m.partition, m.offset): m for m in kafka.messages("many")}
    messages = [found[m.partition, m.offset] for m in written]
    assert [m.value for m in messages] == [b"a", None, b"c", b"d"]
    assert [m.key for m in messages] == [b"x", None, b"z", b""]
    assert [m.headers for m in messages] == [(("h", b"1"),), (), (), (("h", None),)]
    assert [m.offset for m in plain] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "columns",
    [
        {"key": [b"k"]},
        {"value": [b"v"], "colour": ["red"]},
        {"value": [1]},
        {"value": [b"v"], "timestamp": [None]},
        {"value": [b"v"], "timestamp": ["noon"]},
        {"value": [b"v"], "partition": ["one"]},
        {"value": [b"v"], "partition": [9]},
        {"value": [b"v"], "headers": [b"h"]},
    ],
    ids=str,
)
def test_tables_are_checked(face, kafka, columns):
    pa = bare.package("pyarrow")
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises(ConfigurationError):
            p.send_arrow("many", pa.table(columns))
        assert p.counts().accepted == 0


def test_serializers(face, kafka):
    with face.Producer(
        bootstrap_servers=kafka.bootstrap,
        key_serializer=lambda key: str(key).encode(),
        value_serializer=lambda value: value and value.upper().encode(),
    ) as p:
        p.send("one", "value", 1)
        p.send_many("one", ["a", None], [2, 3])
        with pytest.raises(AttributeError):
            p.send("one", 5)  # what a serializer raises comes out as it is
        p.flush(timeout=SOON)
    assert [(m.key, m.value) for m in kafka.messages("one")] == [(b"1", b"VALUE"), (b"2", b"A"), (b"3", None)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_codecs(face, kafka, codec):
    values = [b"%d-" % i * 50 for i in range(2000)]
    with face.Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec) as p:
        p.send_many("one", values)
    assert stored(kafka, "one") == values
    sizes = [len(e.request.topic_data[0].partition_data[0].records) for e in kafka.journal.requests("Produce")]
    assert (sum(sizes) < sum(map(len, values)) / 2) is (codec != "none")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert [m.value for m in c] == values


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 1, 17), ("zstd", 1, 19)])
def test_trap_59_the_level_reaches_the_codec(face, kafka, codec, low, high):
    if codec == "lz4":
        bare.package("lz4.block")  # pure Python has one level
    words = [b"kafka", b"wire", b"batch", b"record", b"level"]
    dice = random.Random(1)
    value = b" ".join(dice.choice(words) for _ in range(20_000))
    sizes = []
    for level in (low, high):
        options = {"compression_type": codec, "compression_level": level}
        with face.Producer(bootstrap_servers=kafka.bootstrap, **options) as p:
            p.send("one", value).result(timeout=SOON)
        sizes.append(len(kafka.journal.requests("Produce")[-1].request.topic_data[0].partition_data[0].records))
    assert sizes[1] < sizes[0]
    assert stored(kafka, "one") == [value, value]


@pytest.mark.parametrize("acks", [0, 1, "all", -1])
def test_acks(face, kafka, acks):
    with face.Producer(bootstrap_servers=kafka.bootstrap, acks=acks) as p:
        offsets = [d.result(timeout=SOON).offset for d in [p.send("one", b"%d" % i) for i in range(10)]]
    kafka.journal.wait_for("Produce")
    assert offsets == ([None] * 10 if acks == 0 else list(range(10)))
    assert {e.request.acks for e in kafka.journal.requests("Produce")} == {-1 if acks == "all" else acks}
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        assert len(c.poll(timeout=SOON)) == 10


def test_without_acknowledgement_nothing_is_lost_by_closing(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, acks=0) as p:
        for _ in range(20):
            p.send_many("one", [bytes(100_000)] * 20)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        found = 0
        while found < 400 and (polled := c.poll(timeout=SOON)):
            found += len(polled)
    assert found == 400


def test_a_topic_may_be_created_by_sending(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        assert p.send("new", b"v").result(timeout=SOON).offset == 0


def test_new_partitions_are_used(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, metadata_max_age_ms=100) as p:
        p.send("one", b"v").result(timeout=SOON)
        kafka.delete_topic("one")
        kafka.create_topic("one", 3)
        deadline = time.monotonic() + SOON
        while time.monotonic() < deadline:
            try:
                if p.send("one", b"w", partition=2).result(timeout=SOON).partition == 2:
                    break
            except ConfigurationError:
                p.send("one", b"v").result(timeout=SOON)
        else:
            pytest.fail("partition 2 was never taken up")


def test_use_after_close(face, kafka):
    p = face.Producer(bootstrap_servers=kafka.bootstrap)
    d = p.send("one", b"v")
    p.close()
    p.close()
    assert d.result().offset == 0
    for call in (lambda: p.send("one", b"v"), lambda: p.send_many("one", [b"v"]), lambda: p.send("other", b"v")):
        with pytest.raises(ClosedError, match="make a new one"):
            call()
    p.flush(timeout=SOON)
    assert p.counts() == (1, 1, 0, 0)


def test_closing_what_was_never_used(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.flush(timeout=SOON)
        assert p.counts() == (0, 0, 0, 0)
    assert kafka.journal.requests() == []


def test_close_gives_up_at_its_deadline(face, kafka):
    kafka.drop("Produce")
    p = face.Producer(bootstrap_servers=kafka.bootstrap)
    deliveries = [p.send("many", b"v", partition=i) for i in range(4)]
    kafka.journal.wait_for("Produce")
    deliveries += [p.send("many", b"v", partition=i) for i in range(4)]
    p.close(timeout=0.1)
    for d in deliveries:
        assert isinstance(d.exception(timeout=SOON), ClosedError)
    assert p.counts() == (8, 0, 8, 0)


def test_flush_has_a_deadline(face, kafka):
    fault = kafka.delay("Produce", 3600)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        d = p.send("one", b"v")
        with pytest.raises(TimedOut, match="1 of 1 records"):
            p.flush(timeout=0.05)
        with pytest.raises(TimeoutError):
            d.result(timeout=0.05)
        assert not d.done()
        assert p.counts() == (1, 0, 0, 1)
        fault.clear()
        p.close(timeout=0)
    assert p.counts() == (1, 0, 1, 0)


def test_counts_balance_at_every_moment(face, kafka):
    def watch():
        while not over.is_set():
            counts = p.counts()
            if counts.accepted != counts.acknowledged + counts.failed + counts.queued:
                wrong.append(counts)

    over = threading.Event()
    wrong: list[Any] = []
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=2000) as p:
        p.send("many", b"v").result(timeout=SOON)
        p.send("small", b"v").result(timeout=SOON)
        watcher = threading.Thread(target=watch)
        watcher.start()
        asked = []
        for i in range(60):
            p.send("many", bytes(300), b"%d" % i)
            p.send("small", bytes(300))
            asked.append(p.send("small", bytes(1100 if i % 20 == 0 else 10)))
        p.flush(timeout=SOON)
        assert [type(d.exception()) for d in asked[::20]] == [MessageTooLargeError] * 3
        over.set()
        watcher.join()
        assert not wrong
        assert p.counts() == (182, 179, 3, 0)


def test_two_producers_share_a_connection(face, kafka):
    with face.Connection(kafka.bootstrap) as connection:
        with face.Producer(connection=connection) as a, face.Producer(connection=connection, acks=1) as b:
            ours = [a.send("one", b"a") for _ in range(100)]
            theirs = [b.send("one", b"b") for _ in range(100)]
            b.close()
            ours += [a.send("one", b"a") for _ in range(100)]
            offsets = [d.result(timeout=SOON).offset for d in ours + theirs]
        assert sorted(offsets) == list(range(300))
        assert connection.topics() == ["many", "one"]
    assert sorted(stored(kafka, "one")) == [b"a"] * 200 + [b"b"] * 100


def test_closing_one_producer_leaves_the_others_requests_alone(face, kafka):
    with face.Connection(kafka.bootstrap) as connection, face.Producer(connection=connection, acks=1) as a:
        a.send("one", b"first").result(timeout=SOON)
        with face.Producer(connection=connection, acks=1) as b:
            b.send("one", b"of b").result(timeout=SOON)
            kafka.delay("Produce", 0.3, times=1)
            d = a.send("one", b"slow")
            kafka.journal.wait_for("Produce", count=3)
        assert d.result(timeout=SOON).offset == 2
    assert stored(kafka, "one") == [b"first", b"of b", b"slow"]


def test_options_as_properties(kafka):
    with kafkawire.Producer.from_properties({"bootstrap.servers": kafka.bootstrap, "linger.ms": "5", "acks": "1"}) as p:
        assert p.send("one", b"v").result(timeout=SOON).offset == 0
        assert p.options["acks"] == 1

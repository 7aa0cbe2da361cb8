"""Producer.send: records, timestamps, callbacks, codecs, acks, topics, sharing a connection."""

from __future__ import annotations

import random
import time

import pytest

import kafkawire
from kafkawire.errors import (
    ConfigurationError,
    MessageTooLargeError,
)
from tests import bare
from tests.client.faces import SOON
from tests.client.records import stored


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

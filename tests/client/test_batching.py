"""Batches: their size, linger, splitting, and the limits of a record and of the buffer."""

from __future__ import annotations

import pytest

from kafkawire.errors import (
    MessageTooLargeError,
    TimedOut,
)
from kafkawire.protocol.records import read_batches
from tests.client.faces import SOON
from tests.client.records import QUICK, produced, send_numbers


def for_ever(call):
    while True:
        call()


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_trap_60_batches_that_are_too_large_are_split(face, kafka, codec):
    kafka.create_topic("small", max_message_bytes=2000)
    values = [b"%d-" % i * 20 for i in range(300)]
    seen = []
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000, compression_type=codec) as p:
        singles = [
            p.send("small", value, b"k", headers=[("h", b"%d" % i)], on_delivery=lambda _, m: seen.append(m.offset))
            for i, value in enumerate(values[:150])
        ]
        rest = p.send_many("small", values[150:], timestamps=list(range(150)))
        p.flush(timeout=SOON)
        offsets = [d.result().offset for d in singles] + [m.offset for m in rest.result(timeout=SOON)]
        assert p.counts() == (300, 300, 0, 0)
    assert offsets == list(range(300))
    found = kafka.messages("small")
    assert [m.value for m in found] == values
    assert [m.timestamp for m in found[150:]] == list(range(150))
    assert [m.headers for m in found[:150]] == [(("h", b"%d" % i),) for i in range(150)]
    assert seen == list(range(150))


def test_trap_60_split_batches_keep_their_sequence(face, kafka):
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000, **QUICK) as p:
        first = p.send_many("small", [b"%d" % i + bytes(200) for i in range(20)])
        p.flush(timeout=SOON)
        kafka.disconnect("Produce", when="after", times=2)
        second = p.send_many("small", [b"%d" % i + bytes(200) for i in range(20, 40)])
        p.flush(timeout=SOON)
        assert [m.offset for m in first.result() + second.result()] == list(range(40))
    assert [int(m.value.rstrip(b"\0")) for m in kafka.messages("small")] == list(range(40))
    assert len(kafka.journal.requests("InitProducerId")) == 1


def test_one_record_that_is_too_large(face, kafka):
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000, **QUICK) as p:
        deliveries = [p.send("small", bytes(size)) for size in (10, 2000, 20)]
        p.flush(timeout=SOON)
        errors = [d.exception() for d in deliveries]
        assert [type(error) for error in errors] == [type(None), MessageTooLargeError, type(None)]
        assert "the topic's max.message.bytes or the broker's message.max.bytes" in str(errors[1])
        for send in (lambda: p.send("small", bytes(1_048_577)), lambda: p.send_many("small", [b"", bytes(1_048_577)])):
            with pytest.raises(MessageTooLargeError, match=r"'small': max_request_size is 1048576 bytes") as caught:
                send()
            assert "max.message.bytes" not in str(caught.value)
        with pytest.raises(MessageTooLargeError, match=r"^row 1, "):
            p.send_many("small", [b"", bytes(1_048_577)])
        assert p.counts() == (3, 2, 1, 0)
    assert [len(m.value) for m in kafka.messages("small")] == [10, 20]


def test_batches_keep_to_their_size(face, kafka):
    """Or brokers with Kafka's default of max.message.bytes would refuse those of the default batch_size."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        for _ in range(3000):
            p.send("one", bytes(1000))
    sizes = [len(e.request.topic_data[0].partition_data[0].records) for e in kafka.journal.requests("Produce")]
    assert max(sizes) <= 1_000_061
    assert max(sizes) > 900_000


@pytest.mark.parametrize("batch_size", [1, 100, 1000, 100_000])
def test_batch_size(face, kafka, batch_size):
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=batch_size, linger_ms=60_000) as p:
        for i in range(300):
            p.send("one", b"%d" % i + bytes(90))
        p.send("one", bytes(5000))
        p.flush(timeout=SOON)
    for exchange in kafka.journal.requests("Produce"):
        (batch,) = read_batches(exchange.request.topic_data[0].partition_data[0].records)
        assert batch.count == 1 or batch.size <= batch_size + 61
    assert len(kafka.messages("one")) == 301


def test_keyed_records_stay_in_their_partition_when_batches_are_full(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=500, linger_ms=60_000) as p:
        for i in range(400):
            p.send("many", bytes(40), b"key")
            p.send("many", bytes(40), partition=3)
            p.send_many("many", [bytes(40)] * 3, partition=2)
            if i % 3 == 0:
                p.send("many", bytes(40))
        d = p.send("many", b"", b"key")
        p.flush(timeout=SOON)
        home = d.result().partition
    assert {m.partition for m in kafka.messages("many") if m.key} == {home}
    keyless = [len([m for m in kafka.messages("many", i) if m.key is None]) for i in range(4)]
    assert keyless[3] >= 400
    assert keyless[2] >= 1200


def test_linger_gathers_and_flush_hurries(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        p.send("one", b"0")
        p.flush(timeout=SOON)
        kafka.journal.clear()
        deliveries = send_numbers(p, 100)
        with pytest.raises(TimeoutError):
            deliveries[0].result(timeout=0.1)
        assert kafka.journal.requests("Produce") == []
        p.flush(timeout=SOON)
        assert all(d.done() for d in deliveries)
        assert len(produced(kafka)) == 1
        assert not send_numbers(p, 1)[0].done()
        assert p.counts().queued == 1


def test_linger_ends(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=50) as p:
        p.send("one", b"0").result(timeout=SOON)
        for d in send_numbers(p, 10):
            d.result(timeout=SOON)
    assert sum(count for _, _, count in produced(kafka)) == 11
    assert len(produced(kafka)) <= 3


def test_a_full_buffer_blocks_and_goes_on(face, kafka):
    kafka.delay("Produce", 0.05)
    with face.Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=200_000, batch_size=50_000, linger_ms=60_000) as p:
        for i in range(100):
            p.send("many", b"%d" % i + bytes(10_000), partition=i % 4)
            assert p.counts().queued <= 20
        many = p.send_many("many", [bytes(10_000)] * 100)
        p.flush(timeout=SOON)
        assert len(many.result(timeout=SOON)) == 100
        assert p.counts() == (200, 200, 0, 0)


@pytest.mark.parametrize("size", [10, 60_000, 150_000])
def test_a_full_buffer_that_does_not_empty(face, kafka, size):
    fault = kafka.drop("Produce")
    with face.Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=200_000, max_block_ms=200, linger_ms=0) as p:
        p.partitions_for("one", timeout=SOON)  # send() shall wait for room, not for metadata
        with pytest.raises(TimedOut, match=r"no room in the buffer within max_block_ms; .* queued in buffer_memory=200000"):
            for_ever(lambda: p.send("one", bytes(size)))
        with pytest.raises(TimedOut):
            p.send_many("one", [bytes(size)] * 30_000)
        counts = p.counts()
        assert counts.accepted == counts.queued
        assert counts.queued * size <= 200_000
        fault.clear()
        p.close(timeout=0)
        assert p.counts() == (counts.accepted, 0, counts.accepted, 0)


def test_a_record_larger_than_the_buffer(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=1000) as p:
        for _ in range(3):
            p.send("one", bytes(100_000))
        p.send_many("one", [bytes(100_000)] * 3)
        p.flush(timeout=SOON)
    assert len(kafka.messages("one")) == 6

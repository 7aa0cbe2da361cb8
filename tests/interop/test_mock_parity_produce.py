"""The mock takes records as Kafka does: the same raw requests to both, compared field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from tests.interop.parity import Questions, Scenarios, assert_same_answers, request
from tests.mockbroker.raw import batch, produce_request

if TYPE_CHECKING:
    from tests.interop.parity import Broker

pytestmark = pytest.mark.real

scenario = Scenarios()
NOW = 1_700_000_000_000


@scenario
def produced_records(broker: Broker, name: str) -> None:
    topic_id = broker.make_topic(name)
    broker.make_topic(name + "-2", max_message_bytes=2000)
    plain = batch(b"a", b"b", timestamp=NOW)
    broker.ask(produce_request(plain, topic=name, topic_id=topic_id), *range(3, 14))
    broker.ask(produce_request(batch(b"a", codec=Codec.ZSTD), topic=name), 6, 7)
    for acks in (2, 1, -2):
        broker.ask(produce_request(plain, topic=name, acks=acks), 9)
    broker.ask(produce_request(plain, topic=name + "-no"), 3, 9, 12)
    broker.ask(produce_request(plain, topic=name, partition=1), 9, 12)
    broker.ask(produce_request(plain, topic_id=b"\1" * 16), 13)
    broker.ask(produce_request(batch(bytes(3000)), topic=name + "-2"), 3, 9, 12)
    broker.make_topic(name + "-3", min_insync_replicas=2)
    broker.ask(produce_request(plain, topic=name + "-3"), 3, 9, 12)
    broker.ask(produce_request(plain, topic=name + "-3", acks=1), 9)
    broker.ask(produce_request(batch(bytes(30000), codec=Codec.GZIP), topic=name + "-2"), 9)


@scenario
def compressed_records(broker: Broker, name: str) -> None:
    """Records whose decompressed size has a limit since 4.4."""
    if broker.newest("ApiVersions") < 5:
        return
    for policy in ("delete", "compact"):
        topic = f"{name}-{policy}"
        broker.make_topic(topic, max_decompressed_message_bytes=1000, cleanup_policy=policy)
        for codec in Codec:
            for size in (989, 990, 991, 992, 5000):
                broker.ask(produce_request(batch(bytes(size), codec=codec), topic=topic), 12)
            for count in (4, 5):
                broker.ask(produce_request(batch(*[bytes(200)] * count, codec=codec), topic=topic), 12)
            for size in (10, 2000):
                broker.ask(produce_request(batch(bytes(size), key=None, codec=codec), topic=topic), 12)
                old = batch(bytes(size), timestamp=NOW * 2, codec=codec)
                broker.ask(produce_request(old, topic=topic), 12)


@scenario
def refused_records(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    damaged = batch(b"a")
    damaged[-1] ^= 1
    control = records.seal_batch(
        [records.encode_record(0, 0, b"\0\0\0\1", b"")], count=1, base_timestamp=0, max_timestamp=0, control=True
    )
    for data in (
        damaged,
        batch(b"a")[:-3],
        batch(b"a")[:30],
        b"",
        batch(b"a") + batch(b"b"),
        records.encode_message_set(1, [(None, b"a", 1)]),
        control,
        batch(b"a", producer_id=1, producer_epoch=0),
        batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True),
    ):
        broker.ask(produce_request(data, topic=name), 3, 7, 9, 12)
    broker.ask(request("Produce", acks=-1, timeoutMs=1000), 9)


@scenario
def records_on_compacted_topics(broker: Broker, name: str) -> None:
    broker.make_topic(name, cleanup_policy="compact")
    for data in (batch(b"a", b"b", key=None), batch(b"a", key=None, codec=Codec.GZIP), batch(b"good")):
        broker.ask(produce_request(data, topic=name), 3, 7, 8, 9, 12)
    parts = records.encode_columns([b"a", b"b", b"c"], [b"k", None, None], [1, 2, 3], base_timestamp=1)
    mixed = records.seal_batch(parts, count=3, base_timestamp=1, max_timestamp=3)
    broker.ask(produce_request(mixed, topic=name), 9)


@scenario
def record_times(broker: Broker, name: str) -> None:
    broker.make_topic(name, message_timestamp_type="LogAppendTime")
    broker.ask(produce_request(batch(b"a", b"b", timestamp=5), topic=name), 3, 9)
    broker.make_topic(name + "-limits", message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    broker.ask(produce_request(batch(b"a", b"b", timestamp=NOW), topic=name + "-limits"), 9)
    broker.ask(produce_request(batch(b"a", b"b", timestamp=5 * NOW), topic=name + "-limits"), 9)
    broker.make_topic(name + "-default")
    broker.ask(produce_request(batch(b"a", b"b", timestamp=5 * NOW), topic=name + "-default"), 9)


@scenario
def idempotent_producers(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    producer_id = 123456

    def send(first: int, count: int = 1, epoch: int = 0, version: int = 9, producer: int = producer_id) -> None:
        values = [b"v"] * count
        data = batch(*values, timestamp=NOW, producer_id=producer, producer_epoch=epoch, base_sequence=first)
        broker.ask(produce_request(data, topic=name), version)

    for first in range(7):
        send(first)
    for first in (2, 6, 1, 8, 0):
        send(first)
    send(6, count=2)
    send(7, count=3)
    send(0, epoch=1)
    send(1, epoch=0)
    send(5, epoch=2)
    send(5, epoch=2, version=3)
    send(0, epoch=2)
    send(0, epoch=2, version=12)
    send(5, producer=producer_id + 1)
    send(2**31 - 2, count=2, producer=producer_id + 2)
    send(0, producer=producer_id + 2)
    send(2**31 - 2, count=2, producer=producer_id + 2)
    broker.ask(request("DescribeProducers", topics=[{"name": name, "partitionIndexes": [0]}]), 0)


@pytest.mark.parametrize("questions", scenario.all, ids=lambda one: one.__name__)
def test_same_answers(twins: tuple[str, str], questions: Questions) -> None:
    assert_same_answers(*twins, questions)

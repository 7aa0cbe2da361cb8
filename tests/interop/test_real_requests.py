"""Requests to real brokers beside reading and writing: topics, offsets, positions, single fetches, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire import TopicPartition
from kafkawire.errors import MessageTooLargeError, OffsetOutOfRangeError, UnknownTopicError, UnsupportedVersionError
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from tests.interop.brokers import BEFORE, NEWEST, OLDEST, real_broker
from tests.interop.faces import TIMEOUT
from tests.interop.rows import HOUR_AGO, Row, bulk, read, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.faces import Face
    from tests.real.broker import RealKafka

pytestmark = pytest.mark.real

each = pytest.mark.parametrize("broker", [NEWEST, BEFORE, OLDEST], indirect=True)
modern = pytest.mark.parametrize("broker", [NEWEST, BEFORE], indirect=True)
oldest = pytest.mark.parametrize("broker", [OLDEST], indirect=True)


@pytest.fixture(scope="module", params=[NEWEST, BEFORE, OLDEST])
def strict_broker(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A broker that creates no topic by itself."""
    with real_broker(request.param, auto_create_topics_enable="false") as broker:
        yield broker


def create_topic(face: Face, broker: RealKafka, name: str, partitions: int = 1, **configs: int) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    for key, value in configs.items():
        config = CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
        topic.configs.append(config)
    with face.connection(broker.bootstrap) as connection:
        (result,) = connection.request(CreateTopicsRequest(topics=[topic])).topics
    assert (result.error_code, result.error_message) == (0, None)


@each
def test_topic_is_there_after_the_first_record(face: Face, broker: RealKafka, topic: str) -> None:
    with face.connection(broker.bootstrap) as connection:
        assert topic not in connection.topics()
        with face.producer(connection=connection) as producer:
            write(face, producer, topic, [Row(b"value")])
        assert topic in connection.topics()
        (partition,) = connection.partitions(topic)
        (leader,) = connection.brokers()
    assert (partition.index, partition.leader) == (0, leader.node_id)
    assert f"{leader.host}:{leader.port}" == broker.bootstrap


@modern
def test_created_partitions_get_what_they_are_sent(face: Face, broker: RealKafka, topic: str) -> None:
    create_topic(face, broker, topic, partitions=5)
    keys = [str(number).encode() for number in range(100)]
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        chosen = write(face, producer, topic, [Row(key, key) for key in keys])
        named = write(face, producer, topic, [Row(b"named")], partition=3)
        together = face.result(producer.send_many(topic, keys, keys))
    assert {at.partition for at in chosen} == set(range(5))
    assert [at.partition for at in together] == [at.partition for at in chosen]
    assert named[0].partition == 3
    found = {(at.partition, at.offset) for at in [*chosen, *named, *together]}
    with face.consumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as consumer:
        messages = list(consumer)
        partitions = [TopicPartition(topic, index) for index in range(5)]
        assert consumer.assignment() == set(partitions)
        ends = consumer.end_offsets(partitions)
    assert {(message.partition, message.offset) for message in messages} == found
    assert sum(ends.values()) == len(messages) == 201


@each
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_positions(face: Face, broker: RealKafka, topic: str, codec: str) -> None:
    values = bulk(100_000)
    tp = TopicPartition(topic, 0)
    with face.producer(bootstrap_servers=broker.bootstrap, compression_type=codec) as producer:
        face.result(producer.send_many(topic, values))
    with face.consumer(bootstrap_servers=broker.bootstrap) as consumer:
        assert consumer.beginning_offsets([tp]) == {tp: 0}
        assert consumer.end_offsets([tp]) == {tp: 100}
        consumer.assign([tp])
        for where, first in ((57, 57), ("earliest", 0), ("latest", 100), ("tail:10", 90), ("tail:1000", 0), (0, 0)):
            consumer.seek(tp, where)
            assert consumer.position(tp) == first
            assert consumer.lag() == {tp: 100 - first}
            found: list[bytes | None] = []
            while len(found) < 100 - first:
                found += [message.value for message in consumer.poll(timeout=TIMEOUT, max_records=33)]
            assert found == values[first:]
            assert consumer.position(tp) == 100
            assert consumer.lag() == {tp: 0}


@each
def test_offset_out_of_range(face: Face, broker: RealKafka, topic: str) -> None:
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        write(face, producer, topic, [Row(b"only")])
    with face.consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="none") as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 5)
        with pytest.raises(OffsetOutOfRangeError):
            consumer.poll(timeout=TIMEOUT)
        with pytest.raises(OffsetOutOfRangeError):
            consumer.fetch(topic, 0, 5)
    with face.consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 5)
        assert [message.value for message in consumer.poll(timeout=TIMEOUT)] == [b"only"]


@each
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_single_fetches(face: Face, broker: RealKafka, topic: str, codec: str) -> None:
    values = bulk(100_000)
    with face.producer(bootstrap_servers=broker.bootstrap, compression_type=codec) as producer:
        face.result(producer.send_many(topic, values))
    with face.consumer(bootstrap_servers=broker.bootstrap) as consumer:
        assert [message.value for message in consumer.fetch(topic, 0, 42)] == values[42:]
        assert consumer.fetch(topic, 0, 100) == []


@modern
def test_offsets_for_times(face: Face, broker: RealKafka, topic: str) -> None:
    create_topic(face, broker, topic, partitions=2)
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        write(face, producer, topic, [Row(b"value", timestamp=HOUR_AGO + 10 * number) for number in range(50)], partition=0)
    with face.consumer(bootstrap_servers=broker.bootstrap) as consumer:
        for time, expected in ((0, (0, HOUR_AGO)), (HOUR_AGO + 101, (11, HOUR_AGO + 110)), (HOUR_AGO + 491, None)):
            assert consumer.offsets_for_times({(topic, 0): time, (topic, 1): time}) == {(topic, 0): expected, (topic, 1): None}


@oldest
def test_no_index_of_times_before_0_10_1(face: Face, broker: RealKafka, topic: str) -> None:
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        write(face, producer, topic, [Row(b"value")])
    with (
        face.consumer(bootstrap_servers=broker.bootstrap) as consumer,
        pytest.raises(UnsupportedVersionError, match=r"0\.10\.1"),
    ):
        consumer.offsets_for_times({(topic, 0): HOUR_AGO})


@each
def test_record_that_is_too_large_for_the_client(face: Face, broker: RealKafka, topic: str) -> None:
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        with pytest.raises(MessageTooLargeError, match="max_request_size"):
            producer.send(topic, bytes(2_000_000))
        assert producer.counts() == (0, 0, 0, 0)


@each
def test_record_that_is_too_large_for_the_broker(face: Face, broker: RealKafka, topic: str) -> None:
    with face.producer(bootstrap_servers=broker.bootstrap, max_request_size=4_000_000, linger_ms=0) as producer:
        write(face, producer, topic, [Row(b"before")])
        with pytest.raises(MessageTooLargeError, match=topic):
            face.result(producer.send(topic, bytes(2_000_000)))
        write(face, producer, topic, [Row(b"after")])
        assert producer.counts() == (3, 2, 1, 0)
    assert [row.value for row in read(face, topic, bootstrap_servers=broker.bootstrap)] == [b"before", b"after"]


@modern
def test_topic_that_takes_small_batches_only(face: Face, broker: RealKafka, topic: str) -> None:
    create_topic(face, broker, topic, max_message_bytes=20_000)
    values = bulk(400_000, noise=1000)
    with face.producer(bootstrap_servers=broker.bootstrap, batch_size=100_000) as producer:
        face.result(producer.send(topic, b"first"))  # from then on several batches are in flight
        written = face.result(producer.send_many(topic, values))
        with pytest.raises(MessageTooLargeError, match=topic):
            face.result(producer.send(topic, bytes(30_000)))
        assert producer.counts() == (402, 401, 1, 0)
    assert [at.offset for at in written] == list(range(1, 401))
    assert [row.value for row in read(face, topic, bootstrap_servers=broker.bootstrap)] == [b"first", *values]


@modern
def test_reading_creates_no_topic(face: Face, broker: RealKafka, topic: str) -> None:
    """Although the broker creates topics that are asked for, by those who do not say otherwise."""
    with face.connection(broker.bootstrap) as connection:
        with pytest.raises(UnknownTopicError, match=topic):
            connection.partitions(topic)
        with (
            face.consumer(topic, bootstrap_servers=broker.bootstrap) as consumer,
            pytest.raises(UnknownTopicError, match=topic),
        ):
            consumer.poll(timeout=TIMEOUT)
        assert topic not in connection.topics()


def test_unknown_topic(face: Face, strict_broker: RealKafka, topic: str) -> None:
    bootstrap = strict_broker.bootstrap
    with face.producer(bootstrap_servers=bootstrap, max_block_ms=2000) as producer:
        with pytest.raises(UnknownTopicError, match=topic):
            producer.send(topic, b"value")
        assert producer.counts() == (0, 0, 0, 0)
    with face.consumer(topic, bootstrap_servers=bootstrap) as consumer:
        with pytest.raises(UnknownTopicError, match=topic):
            consumer.poll(timeout=TIMEOUT)
        with pytest.raises(UnknownTopicError, match=topic):
            consumer.end_offsets([(topic, 0)])

"""Other client libraries over TCP: what works with Kafka works with the mock."""

from __future__ import annotations

import asyncio
import time
import warnings
from contextlib import closing, contextmanager
from typing import Any

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import pytest

from mockbroker import MockCluster
from tests import bare

with warnings.catch_warnings():  # kafka-python reads its schemas in a way that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    import kafka.admin
    import kafka.errors

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = [(f"k{n % 7}".encode(), f"value {n}".encode() * 20) for n in range(200)]
TIMEOUT = 20.0


@pytest.fixture
def mock():
    with MockCluster(3, topics={"t": 3}) as cluster:
        yield cluster


def codec_of(name):
    """A codec as the Python clients call it; they need packages for most."""
    if name not in ("none", "gzip"):
        bare.package("cramjam")
    return None if name == "none" else name


def librdkafka(mock, **options):
    # Quiet at the end: the mock goes away before librdkafka's threads do.
    return {"bootstrap.servers": mock.bootstrap, "log.connection.close": False, "log_level": 0, **options}


def delivered(producer, topic, rows, **options):
    """Produce and return the errors of the deliveries."""
    errors = []
    for key, value in rows:
        producer.produce(topic, value, key, on_delivery=lambda error, _message: errors.append(error), **options)
    assert producer.flush(TIMEOUT) == 0
    return [error for error in errors if error is not None]


def consumed(consumer, count):
    found: list[Any] = []
    deadline = time.monotonic() + TIMEOUT
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count}"
        for message in consumer.consume(count, 1.0):
            assert message.error() is None
            found.append((message.key(), message.value()))
    return found


@contextmanager
def confluent_consumer(mock, topic="t", partitions=3, **options):
    config = librdkafka(mock, **{"group.id": "g", "enable.auto.commit": False, "check.crcs": True, **options})
    consumer = confluent_kafka.Consumer(config)
    consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in range(partitions)])
    try:
        yield consumer
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_confluent_kafka_produces_and_consumes(mock, codec):
    producer = confluent_kafka.Producer(librdkafka(mock, **{"compression.type": codec}))
    assert delivered(producer, "t", RECORDS) == []
    assert sorted((m.key, m.value) for m in mock.messages("t")) == sorted(RECORDS)
    with confluent_consumer(mock) as consumer:
        assert sorted(consumed(consumer, len(RECORDS))) == sorted(RECORDS)


def test_confluent_kafka_offsets_and_commits(mock):
    for n in range(5):
        mock.produce("t", b"v", partition=1, timestamp=1000 + n)
    with confluent_consumer(mock) as consumer:
        partition = confluent_kafka.TopicPartition("t", 1)
        assert consumer.get_watermark_offsets(partition, timeout=TIMEOUT) == (0, 5)
        at = confluent_kafka.TopicPartition("t", 1, 1003)
        assert [found.offset for found in consumer.offsets_for_times([at], timeout=TIMEOUT)] == [3]
        consumer.commit(offsets=[confluent_kafka.TopicPartition("t", 1, 4)], asynchronous=False)
        assert [found.offset for found in consumer.committed([partition], timeout=TIMEOUT)] == [4]
    assert mock.committed("g", "t", 1) == 4
    assert mock.committed("g", "t", 0) is None


def test_confluent_kafka_idempotent_and_unacknowledged(mock):
    idempotent = confluent_kafka.Producer(librdkafka(mock, **{"enable.idempotence": True, "linger.ms": 0}))
    assert delivered(idempotent, "t", RECORDS) == []
    careless = confluent_kafka.Producer(librdkafka(mock, acks=0))
    assert delivered(careless, "t", [(None, b"last")], partition=2) == []
    mock.journal.wait_for("Produce")
    with confluent_consumer(mock) as consumer:
        assert sorted(consumed(consumer, len(RECORDS) + 1), key=repr) == sorted([*RECORDS, (None, b"last")], key=repr)


def test_confluent_kafka_admin(mock):
    admin = confluent_kafka.admin.AdminClient(librdkafka(mock))
    new = confluent_kafka.admin.NewTopic  # type: ignore[attr-defined]
    futures = admin.create_topics([new("new", 4, 2, config={"retention.ms": "1000"}), new("t", 1, 1)])
    futures["new"].result(TIMEOUT)
    with pytest.raises(confluent_kafka.KafkaException, match="TOPIC_ALREADY_EXISTS"):
        futures["t"].result(TIMEOUT)
    metadata = admin.list_topics(timeout=TIMEOUT)
    assert {name: len(topic.partitions) for name, topic in metadata.topics.items()} == {"t": 3, "new": 4}
    assert sorted(metadata.brokers) == [1, 2, 3]
    admin.delete_topics(["new"])["new"].result(TIMEOUT)
    assert sorted(mock.cluster.topics) == ["t"]


def test_confluent_kafka_follows_leaders_and_survives_a_stopped_broker(mock):
    producer = confluent_kafka.Producer(librdkafka(mock, **{"enable.idempotence": True, "retry.backoff.ms": 10}))
    assert delivered(producer, "t", RECORDS[:50]) == []
    mock.move_leader("t", 0, 2)
    assert delivered(producer, "t", RECORDS[50:100]) == []
    mock.brokers[2].stop()
    assert delivered(producer, "t", RECORDS[100:150]) == []
    mock.brokers[2].start()
    assert delivered(producer, "t", RECORDS[150:]) == []
    assert sorted((m.key, m.value) for m in mock.messages("t")) == sorted(RECORDS)


def test_confluent_kafka_creates_topics_by_producing(mock):
    producer = confluent_kafka.Producer(librdkafka(mock))
    assert delivered(producer, "automatic", RECORDS[:3]) == []
    assert mock.end_offset("automatic") == 3


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python_produces_and_consumes(mock, codec):
    compression = codec_of(codec)
    with closing(kafka.KafkaProducer(bootstrap_servers=mock.bootstrap, compression_type=compression)) as producer:
        sent = [producer.send("t", value, key) for key, value in RECORDS]
        producer.flush(TIMEOUT)
        assert {future.get(TIMEOUT).topic for future in sent} == {"t"}
    with closing(kafka.KafkaConsumer(bootstrap_servers=mock.bootstrap, consumer_timeout_ms=int(TIMEOUT * 1000))) as consumer:
        partitions = [kafka.TopicPartition("t", p) for p in range(3)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        assert sum(consumer.end_offsets(partitions).values()) == len(RECORDS)
        found = [next(consumer) for _ in RECORDS]
    assert sorted((message.key, message.value) for message in found) == sorted(RECORDS)


@pytest.mark.parametrize(
    ("release", "api_version"),
    [("0.8.2", (0, 8, 2)), ("0.9", (0, 9)), ("0.10.2", (0, 10, 2)), ("2.8", (2, 8)), ("0.10.2", None)],
)
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])  # lz4 for formats before 1 needs xxhash in kafka-python
def test_kafka_python_with_old_brokers(release, api_version, codec):
    options = {} if api_version is None else {"api_version": api_version}
    compression = codec_of(codec)
    with MockCluster(2, topics={"t": 2}, version=release) as mock:
        options["bootstrap_servers"] = mock.bootstrap
        with closing(kafka.KafkaProducer(compression_type=compression, enable_idempotence=False, **options)) as producer:
            for key, value in RECORDS:
                producer.send("t", value, key)
            producer.flush(TIMEOUT)
        with closing(kafka.KafkaConsumer(consumer_timeout_ms=int(TIMEOUT * 1000), **options)) as consumer:
            consumer.assign([kafka.TopicPartition("t", p) for p in range(2)])
            consumer.seek_to_beginning()
            found = [next(consumer) for _ in RECORDS]
    assert sorted((message.key, message.value) for message in found) == sorted(RECORDS)


def test_kafka_python_admin(mock):
    with closing(kafka.KafkaAdminClient(bootstrap_servers=mock.bootstrap)) as admin:
        admin.create_topics([kafka.admin.NewTopic("new", 2, 1)])
        assert sorted(admin.list_topics()) == ["new", "t"]
        with pytest.raises(kafka.errors.TopicAlreadyExistsError):
            admin.create_topics([kafka.admin.NewTopic("new", 2, 1)])
        admin.delete_topics(["new"])
        assert sorted(admin.list_topics()) == ["t"]


@pytest.mark.parametrize("codec", CODECS)
def test_aiokafka_produces_and_consumes(mock, codec):
    async def scenario():
        compression = codec_of(codec)
        options = {"enable_idempotence": True, "compression_type": compression, "linger_ms": 5}
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=mock.bootstrap, **options) as producer:
            sent = [await producer.send("t", value, key) for key, value in RECORDS]
            await asyncio.gather(*sent)
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=mock.bootstrap)
        consumer.assign([aiokafka.TopicPartition("t", p) for p in range(3)])
        async with consumer:
            await consumer.seek_to_beginning()
            return [await asyncio.wait_for(consumer.getone(), TIMEOUT) for _ in RECORDS]

    found = asyncio.run(scenario())
    assert sorted((message.key, message.value) for message in found) == sorted(RECORDS)


def test_transactions_are_refused_once_and_for_all(mock):
    """By the error, not by a time-out of the client's after many attempts."""
    producer = confluent_kafka.Producer(librdkafka(mock, **{"transactional.id": "x"}))
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        producer.init_transactions(TIMEOUT)
    assert refused.value.args[0].code() == confluent_kafka.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    with (
        closing(kafka.KafkaProducer(bootstrap_servers=mock.bootstrap, transactional_id="y")) as python,
        pytest.raises(kafka.errors.TransactionalIdAuthorizationFailedError),
    ):
        python.init_transactions()

    async def with_aiokafka():
        third = aiokafka.AIOKafkaProducer(bootstrap_servers=mock.bootstrap, transactional_id="z")
        try:
            with pytest.raises(aiokafka.errors.TransactionalIdAuthorizationFailed):
                await asyncio.wait_for(third.start(), TIMEOUT)
        finally:
            await third.stop()

    asyncio.run(with_aiokafka())
    asked = [exchange.request.transactional_id for exchange in mock.journal.expect("InitProducerId")]
    assert asked == ["x", "y", "z"]

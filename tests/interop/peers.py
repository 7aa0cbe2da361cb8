"""Other clients, each as two functions: rows into a topic, and the rows of a topic."""

from __future__ import annotations

import asyncio
import time
import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.interop.faces import TIMEOUT
from tests.interop.rows import Row
from tests.requirements import peer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PEERS", "Peer", "kafka_python_consume"]


class Peer(NamedTuple):
    """A client's two functions, and what it cannot send."""

    produce: Callable[[str, str, Sequence[Row], str], None]
    """(bootstrap, topic, rows, codec): write the rows to partition 0."""
    consume: Callable[[str, str, int], list[Row]]
    """(bootstrap, topic, count): the first rows of partition 0."""
    can_send: Callable[[Row], bool] = lambda _row: True


def confluent_produce(bootstrap: str, topic: str, rows: Sequence[Row], codec: str) -> None:
    confluent = peer("confluent_kafka")
    errors = []
    options = {"compression.type": codec, "enable.idempotence": True, "log_level": 0, "linger.ms": 5}
    producer = confluent.Producer({"bootstrap.servers": bootstrap, **options})
    for row in rows:
        producer.produce(
            topic,
            row.value,
            row.key,
            partition=0,
            timestamp=row.timestamp,
            headers=list(row.headers),
            on_delivery=lambda error, _message: errors.append(error),
        )
    assert producer.flush(TIMEOUT) == 0
    assert errors == [None] * len(rows)


def confluent_consume(bootstrap: str, topic: str, count: int) -> list[Row]:
    confluent = peer("confluent_kafka")
    options = {"group.id": "interop", "enable.auto.commit": False, "check.crcs": True, "log_level": 0}
    consumer = confluent.Consumer({"bootstrap.servers": bootstrap, **options})
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    found: list[Row] = []
    deadline = time.monotonic() + TIMEOUT
    with closing(consumer):
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count}"
            for message in consumer.consume(count - len(found), 1.0):
                assert message.error() is None
                _, timestamp = message.timestamp()
                found.append(Row(message.value(), message.key(), timestamp, tuple(message.headers() or ())))
    return found


def kafka_python() -> Any:
    with warnings.catch_warnings():  # it loads its schemas by a deprecated call of importlib
        warnings.simplefilter("ignore", DeprecationWarning)
        return peer("kafka")


def kafka_python_produce(bootstrap: str, topic: str, rows: Sequence[Row], codec: str) -> None:
    compression = None if codec == "none" else codec
    with closing(kafka_python().KafkaProducer(bootstrap_servers=bootstrap, compression_type=compression)) as producer:
        sent = [producer.send(topic, row.value, row.key, list(row.headers), 0, row.timestamp) for row in rows]
        producer.flush(TIMEOUT)
        for future in sent:
            future.get(TIMEOUT)


def kafka_python_consume(bootstrap: str, topic: str, count: int, **options: Any) -> list[Row]:
    kafka = kafka_python()
    options |= {"bootstrap_servers": bootstrap, "consumer_timeout_ms": TIMEOUT * 1000}
    with closing(kafka.KafkaConsumer(**options)) as consumer:
        consumer.assign([kafka.TopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        return [row_of(next(consumer)) for _ in range(count)]


def aiokafka_produce(bootstrap: str, topic: str, rows: Sequence[Row], codec: str) -> None:
    aiokafka = peer("aiokafka")
    options = {"compression_type": None if codec == "none" else codec, "linger_ms": 5}

    async def produce() -> None:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, **options) as producer:
            sent = [await producer.send(topic, row.value, row.key, 0, row.timestamp, headers=list(row.headers)) for row in rows]
            await asyncio.gather(*sent)

    asyncio.run(asyncio.wait_for(produce(), TIMEOUT))


def aiokafka_consume(bootstrap: str, topic: str, count: int) -> list[Row]:
    aiokafka = peer("aiokafka")

    async def consume() -> list[Row]:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap)
        consumer.assign([aiokafka.TopicPartition(topic, 0)])
        async with consumer:
            await consumer.seek_to_beginning()
            return [row_of(await consumer.getone()) for _ in range(count)]

    return asyncio.run(asyncio.wait_for(consume(), TIMEOUT))


def row_of(record: Any) -> Row:
    """A record as kafka-python and aiokafka have it."""
    return Row(record.value, record.key, record.timestamp, tuple(record.headers))


def has_key_or_value(row: Row) -> bool:
    return (row.key, row.value) != (None, None)


def has_key_or_value_and_whole_headers(row: Row) -> bool:
    return has_key_or_value(row) and all(value is not None for _, value in row.headers)


PEERS = {
    "confluent-kafka": Peer(confluent_produce, confluent_consume),
    "kafka-python": Peer(kafka_python_produce, kafka_python_consume, has_key_or_value_and_whole_headers),
    "aiokafka": Peer(aiokafka_produce, aiokafka_consume, has_key_or_value),
}

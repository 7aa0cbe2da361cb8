"""The demo's steps with kafkawire alone, for use without Spark and beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable

from kafkawire import Connection, Consumer, Producer
from kafkawire.cli.demo.data import Carrier, flights

__all__ = ["consume", "count_records", "load", "produce", "summarize", "write"]

CHUNK = 1000
"""Records between two reports of progress."""

FLUSH_TIMEOUT = 60.0
"""Seconds to wait for records that are still in the producer's buffer."""

Advance = Callable[[int], None]
"""Called with the number of further records that are done."""


def load(limit: int | None, advance: Advance) -> list[tuple[bytes, bytes]]:
    """Key and value of each flight, of the first `limit` if that is not None."""
    records = []
    for number, record in enumerate(flights(limit)):
        records.append(record)
        if number % CHUNK == 0:
            advance(CHUNK)
    return records


def produce(connection: Connection, topic: str, records: Collection[tuple[bytes, bytes]], advance: Advance) -> int:
    """Send (key, value) pairs, and wait until the brokers have them; returns how many they acknowledged.

    Raises the error of a record that was not written, of the one record of each chunk whose handle it keeps: keeping every
    handle would cost a quarter of the speed.
    """
    deliveries = []
    producer = Producer(connection=connection, compression_type="lz4")
    try:
        for number, (key, value) in enumerate(records):
            delivery = producer.send(topic, value, key=key)
            if number % CHUNK == 0:
                deliveries.append(delivery)
                advance(CHUNK)
        producer.flush(timeout=FLUSH_TIMEOUT)
    finally:
        producer.close(timeout=0)  # flushed or interrupted: either way there is nothing to wait for
    for delivery in deliveries:
        delivery.result()
    return producer.counts().acknowledged


def summarize(connection: Connection, topic: str, advance: Advance) -> list[Carrier]:
    """Read all flights and count them by carrier, as Spark does it in kafkawire.cli.demo.spark_job."""
    count: Counter[str] = Counter()
    departed: Counter[str] = Counter()
    delay: Counter[str] = Counter()
    with Consumer(topic, connection=connection, auto_offset_reset="earliest", stop_at_end=True) as consumer:
        for number, message in enumerate(consumer):
            flight = json.loads(message.value or b"")
            carrier = flight["carrier"]
            count[carrier] += 1
            if flight["dep_delay"] is not None:
                departed[carrier] += 1
                delay[carrier] += flight["dep_delay"]
            if number % CHUNK == 0:
                advance(CHUNK)
    return [Carrier(name, count[name], delay[name] / departed[name] if departed[name] else None) for name in count]


def write(connection: Connection, topic: str, carriers: Iterable[Carrier]) -> int:
    """Send the summaries; returns how many the brokers acknowledged."""
    return produce(connection, topic, [(each.carrier.encode(), each.to_json()) for each in carriers], lambda count: None)


def count_records(connection: Connection, topic: str) -> int:
    """Number of records of a topic that nothing was deleted from."""
    with Consumer(connection=connection) as consumer:
        partitions = [(topic, partition.index) for partition in connection.partitions(topic)]
        return sum(consumer.end_offsets(partitions).values())


def consume(connection: Connection, topic: str) -> list[Carrier]:
    """Read the summaries."""
    with Consumer(topic, connection=connection, auto_offset_reset="earliest", stop_at_end=True) as consumer:
        return [Carrier.from_json(message.value or b"") for message in consumer]

"""Records of the tests: written to the mock broker with or without a producer, and read back."""

from __future__ import annotations

from typing import Any

from kafkawire.message import TopicPartition
from kafkawire.protocol.records import read_batches
from tests.client.faces import SOON

ONE = TopicPartition("one", 0)
"""The only partition of topic "one"."""

QUICK = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 50, "reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50}
"""Options that try again after short pauses."""


def fill(kafka, count, topic="one", partition=0, *, batch=10, start=0):
    """Write records b"0", b"1", ... in batches of ten; return the values."""
    values = [b"%d" % i for i in range(start, start + count)]
    for at in range(0, count, batch):
        kafka.produce(topic, *values[at : at + batch], partition=partition)
    return values


def take(consumer, count, **options):
    """Poll until `count` records have come, and no more."""
    found: list[Any] = []
    while len(found) < count:
        polled = consumer.poll(timeout=SOON, **options)
        assert polled, f"only {len(found)} of {count} records came"
        found += polled
    assert len(found) == count
    return found


def send_numbers(producer, count, topic="one", partition=0, start=0):
    """Send records b"0", b"1", ... one at a time; return their deliveries."""
    return [producer.send(topic, b"%d" % i, partition=partition) for i in range(start, start + count)]


def stored(kafka, topic, partition=None):
    """Values of the records that the mock broker holds."""
    return [message.value for message in kafka.messages(topic, partition)]


def numbers(kafka, topic="one", partition=0):
    """Values of the records that the mock broker holds, as integers."""
    return [int(value) for value in stored(kafka, topic, partition)]


def produced(kafka):
    """Partition, first sequence number and record count of every batch that the mock broker received."""
    found = []
    for exchange in kafka.journal.requests("Produce"):
        for topic in exchange.request.topic_data:
            for data in topic.partition_data:
                (batch,) = read_batches(data.records)
                found.append((data.index, batch.base_sequence, batch.count))
    return found

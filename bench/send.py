"""send() of single records, in threads and in asyncio: from the first send() to the end of flush()."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bench.harness import Contender, Job, Row, Sample, Stopwatch, Topic, keys_of, load_accelerators, values_of
from bench.settings import producer

__all__ = ["ROWS", "confluent", "kafka_python", "kafkawire"]


def kafkawire(job: Job) -> Sample:
    from kafkawire import Producer

    load_accelerators()
    with Producer(**producer("kafkawire", job)) as client:
        return _timed(job, client.send, client.flush)


def confluent(job: Job) -> Sample:
    from confluent_kafka import Producer

    client = Producer(producer("confluent-kafka", job))
    return _timed(job, client.produce, client.flush)


def kafka_python(job: Job) -> Sample:
    from kafka import KafkaProducer

    client = KafkaProducer(**producer("kafka-python", job))
    sample = _timed(job, client.send, client.flush)
    client.close()
    return sample


def kafkawire_asyncio(job: Job) -> Sample:
    async def main() -> Sample:
        from kafkawire.aio import Producer

        load_accelerators()
        async with Producer(**producer("kafkawire", job)) as client:
            return await _timed_asyncio(job, client.send, client.flush)

    return asyncio.run(main())


def aiokafka(job: Job) -> Sample:
    async def main() -> Sample:
        from aiokafka import AIOKafkaProducer

        async with AIOKafkaProducer(**producer("aiokafka", job)) as client:
            return await _timed_asyncio(job, client.send, client.flush)

    return asyncio.run(main())


def _timed(job: Job, send: Callable[..., object], flush: Callable[[], object]) -> Sample:
    """All clients take topic, value and key by position."""
    values, keys, topic = values_of(job), keys_of(job), job.topic
    send(topic, values[0])
    flush()
    watch = Stopwatch()
    if job.keyed:
        for value, key in zip(values, keys, strict=True):
            send(topic, value, key)
    else:
        for value in values:
            send(topic, value)
    flush()
    return Sample(len(values), watch.read())


async def _timed_asyncio(job: Job, send: Callable[..., Awaitable[Any]], flush: Callable[[], Awaitable[None]]) -> Sample:
    values, topic = values_of(job), job.topic
    await send(topic, values[0])
    await flush()
    watch = Stopwatch()
    for value in values:
        await send(topic, value)
    await flush()
    return Sample(len(values), watch.read())


def _send(size: int, count: int) -> Row:
    contenders = [
        Contender("kafkawire", kafkawire),
        Contender("confluent-kafka", confluent, "confluent_kafka", goal=0.8, aim=1.0),
        Contender("kafka-python", kafka_python, "kafka", share=1 / 5, goal=6, aim=6),
    ]
    return Row("send", f"send(), {size} B", Job(count, size), contenders, Topic.EMPTY)


def _send_asyncio(size: int, count: int) -> Row:
    contenders = [
        Contender("kafkawire.aio", kafkawire_asyncio),
        Contender("aiokafka", aiokafka, "aiokafka", share=1 / 2, aim=2),
    ]
    return Row("send_asyncio", f"asyncio send(), {size} B", Job(count, size), contenders, Topic.EMPTY)


ROWS = [
    _send(100, 1_000_000),
    _send(1_000, 300_000),
    Row(
        "send_idempotent",
        "send(), 100 B, acks=all, idempotent",
        Job(1_000_000, 100, idempotent=True),
        [Contender("kafkawire", kafkawire), Contender("confluent-kafka", confluent, "confluent_kafka")],
        Topic.EMPTY,
    ),
    _send_asyncio(100, 1_000_000),
    _send_asyncio(1_000, 300_000),
]

"""poll() to Message, in threads and in asyncio: from making the client to the last value in hand."""

from __future__ import annotations

import asyncio
from typing import Any

from bench.harness import Contender, Job, Row, Sample, Stopwatch, Topic, load_accelerators
from bench.settings import POLL_RECORDS, consumer

__all__ = ["LARGE", "ROWS", "SMALL", "confluent", "finished"]

SMALL, LARGE = Job(3_000_000, 100), Job(1_000_000, 1_000)
"""Jobs whose topics all reading benchmarks share."""


def kafkawire(job: Job) -> Sample:
    from kafkawire import Consumer

    load_accelerators()
    watch = Stopwatch()
    count = read = 0
    with Consumer(**consumer("kafkawire", job)) as client:
        client.assign([(job.topic, partition) for partition in range(job.partitions)])
        while count < job.count:
            messages = client.poll(timeout=1, max_records=POLL_RECORDS)
            for message in messages:
                read += len(message.value)  # type: ignore[arg-type]
            count += len(messages)
        return finished(job, count, read, watch)


def confluent(job: Job) -> Sample:
    from confluent_kafka import Consumer, TopicPartition

    watch = Stopwatch()
    count = read = 0
    client = Consumer(consumer("confluent-kafka", job))
    client.assign([TopicPartition(job.topic, partition, 0) for partition in range(job.partitions)])
    while count < job.count:
        messages = client.consume(POLL_RECORDS, 1)
        for message in messages:
            read += len(message.value())  # type: ignore[arg-type]
        count += len(messages)
    sample = finished(job, count, read, watch)
    client.close()
    return sample


def kafka_python(job: Job) -> Sample:
    from kafka import KafkaConsumer, TopicPartition

    watch = Stopwatch()
    count = read = 0
    client = KafkaConsumer(**consumer("kafka-python", job))
    client.assign([TopicPartition(job.topic, partition) for partition in range(job.partitions)])
    while count < job.count:
        for records in client.poll(timeout_ms=1000, max_records=POLL_RECORDS).values():
            for record in records:
                read += len(record.value)
            count += len(records)
    sample = finished(job, count, read, watch)
    client.close()
    return sample


def kafkawire_asyncio(job: Job) -> Sample:
    async def main() -> Sample:
        from kafkawire.aio import Consumer

        load_accelerators()
        watch = Stopwatch()
        count = read = 0
        async with Consumer(**consumer("kafkawire", job)) as client:
            client.assign([(job.topic, partition) for partition in range(job.partitions)])
            while count < job.count:
                messages = await client.poll(timeout=1, max_records=POLL_RECORDS)
                for message in messages:
                    read += len(message.value)  # type: ignore[arg-type]
                count += len(messages)
            return finished(job, count, read, watch)

    return asyncio.run(main())


def aiokafka(job: Job) -> Sample:
    async def main() -> Sample:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        watch = Stopwatch()
        count = read = 0
        client: Any = AIOKafkaConsumer(**consumer("aiokafka", job))
        client.assign([TopicPartition(job.topic, partition) for partition in range(job.partitions)])
        async with client:
            while count < job.count:
                for records in (await client.getmany(timeout_ms=1000, max_records=POLL_RECORDS)).values():
                    for record in records:
                        read += len(record.value)
                    count += len(records)
            return finished(job, count, read, watch)

    return asyncio.run(main())


def finished(job: Job, count: int, read: int, watch: Stopwatch) -> Sample:
    """The sample, if all records asked for have arrived whole; a client's fetches may bring more."""
    seconds = watch.read()
    if read != count * job.size:
        raise ValueError(f"{count} records of {job.size} bytes are not {read} bytes")
    return Sample(count, seconds)


def _poll(job: Job, goal: float, aim: float) -> Row:
    contenders = [
        Contender("kafkawire", kafkawire),
        Contender("confluent-kafka", confluent, "confluent_kafka", goal=goal, aim=aim),
        Contender("kafka-python", kafka_python, "kafka", share=1 / 3, aim=5),
    ]
    return Row("poll", f"poll(), {job.size} B", job, contenders, Topic.FILLED)


def _poll_asyncio(job: Job) -> Row:
    contenders = [Contender("kafkawire.aio", kafkawire_asyncio), Contender("aiokafka", aiokafka, "aiokafka", aim=1.0)]
    return Row("poll_asyncio", f"asyncio poll(), {job.size} B", job, contenders, Topic.FILLED)


ROWS = [_poll(SMALL, 1.0, 1.5), _poll(LARGE, 0.7, 1.0), _poll_asyncio(SMALL), _poll_asyncio(LARGE)]

"""The broker that is measured against, and the topics of the runs."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.harness import Failure, Job, Topic, values_of
from bench.settings import ROWS_PER_CALL, producer
from kafkawire import Connection, Consumer, Producer
from kafkawire.errors import UnknownTopicError, broker_error
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.real.broker import RealKafka
from tests.real.jvm import MEASURED_JVM

__all__ = ["BROKER", "PARTITIONS", "Topics", "running"]

BROKER = "4.3.1"
PARTITIONS = 4
TIMEOUT = 30
WARM_UP_RECORDS = 1
"""Producers send one before the clock runs: metadata and connections are not what is measured."""


@contextmanager
def running(bootstrap: str | None) -> Iterator[str]:
    """The bootstrap servers: those given, or those of a broker that runs as long as the context."""
    if bootstrap:
        yield bootstrap
        return
    # What a run has written goes at once: the disk is not what is measured, and it need not hold it all.
    with RealKafka(BROKER, jvm=MEASURED_JVM, num_partitions=PARTITIONS, log_segment_delete_delay_ms=100) as broker:
        yield broker.bootstrap


class Topics:
    """Makes the topics that runs need, and removes them at the end."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._connection = Connection(bootstrap)
        self._numbers = itertools.count()
        self._filled: dict[Job, str] = {}

    @contextmanager
    def of(self, kind: Topic, job: Job) -> Iterator[str]:
        """The topic for one run of a job."""
        if kind == Topic.FILLED:
            yield self._filled_with(job)
        elif kind == Topic.EMPTY:
            topic = self._create()
            try:
                yield topic
            finally:
                self._delete(topic)
        else:
            yield ""

    def check_sent(self, topic: str, count: int) -> None:
        """Raise Failure unless a producer's records are all there, once."""
        found = self._count(topic) - WARM_UP_RECORDS
        if found != count:
            raise Failure(f"sent {count:,} records, and {found:,} are in the topic")

    def close(self) -> None:
        for topic in self._filled.values():
            self._delete(topic)
        self._connection.close()

    def _filled_with(self, job: Job) -> str:
        if job not in self._filled:
            topic = self._create()
            values = values_of(job)
            with Producer(**producer("kafkawire", Job(job.count, job.size, bootstrap=self.bootstrap))) as filler:
                for at in range(0, job.count, ROWS_PER_CALL):
                    filler.send_many(topic, values[at : at + ROWS_PER_CALL])
            if self._count(topic) != job.count:
                raise Failure(f"could not fill a topic with {job.count:,} records of {job.size} bytes")
            self._filled[job] = topic
        return self._filled[job]

    def _create(self) -> str:
        name = f"bench-{os.getpid()}-{next(self._numbers)}"
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1)
        (result,) = self._connection.request(CreateTopicsRequest(topics=[topic]), broker=self._controller()).topics
        if result.error_code:
            raise broker_error(result.error_code, f"creating topic {name}")
        self._wait_until_known(name)
        return name

    def _wait_until_known(self, topic: str) -> None:
        """A KRaft controller answers before the brokers know of the topic."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                self._count(topic)
            except UnknownTopicError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _delete(self, topic: str) -> None:
        state = DeleteTopicsRequest.DeleteTopicState(name=topic)
        request = DeleteTopicsRequest(topics=[state], topic_names=[topic], timeout_ms=TIMEOUT * 1000)
        self._connection.request(request, broker=self._controller())

    def _controller(self) -> int | None:
        controller = self._connection.controller()
        return None if controller is None else controller.node_id

    def _count(self, topic: str) -> int:
        with Consumer(connection=self._connection) as consumer:
            return sum(consumer.end_offsets([(topic, partition) for partition in range(PARTITIONS)]).values())

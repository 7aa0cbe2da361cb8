"""Other client libraries as members of groups, over TCP: two share a topic, one leaves, static ones come back, all resume."""

from __future__ import annotations

import asyncio
import contextlib
import time
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import aiokafka
import confluent_kafka
import pytest

from mockbroker import MockCluster

with warnings.catch_warnings():  # kafka-python reads its schemas in a way that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    import kafka.structs

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

TIMEOUT = 30.0
"""Seconds that anything may take; what is waited for comes in tenths."""
STEP = 0.05
PARTITIONS = 4


class Confluent:
    """A consumer of confluent-kafka in the group g."""

    def __init__(self, mock, instance=None):
        config = {
            "bootstrap.servers": mock.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
            "log_level": 0,
        }
        self._consumer = confluent_kafka.Consumer(config | ({} if instance is None else {"group.instance.id": instance}))
        self._consumer.subscribe(["t"])

    def poll(self):
        return [message.value() for message in self._consumer.consume(100, STEP) if message.error() is None]

    def partitions(self):
        return {found.partition for found in self._consumer.assignment()}

    def commit(self):
        try:
            self._consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as error:
            if error.args[0].name() != "_NO_OFFSET":  # it may have nothing new
                raise

    def close(self):
        self._consumer.close()


class KafkaPython:
    """A consumer of kafka-python in the group g. It polls without a pause in a thread of its own, as its users let it.

    Release 3.0.12 forgets that it is joining when a poll ends too early, with a real broker as well: if new metadata made the
    leader rejoin, and the others join only between two of its polls, then it has no heartbeats and cannot commit any more.
    """

    def __init__(self, mock, instance=None, **options):
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=mock.bootstrap,
            group_id="g",
            group_instance_id=instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            retry_backoff_ms=10,
            **options,
        )
        self._consumer.subscribe(["t"])
        # A leader that hears of a subscribed topic only after it has assigned it rejoins, even if it knew it before. The answer
        # may come late: brokers answer in order, and its fetch may be waiting on the same connection.
        deadline = time.monotonic() + TIMEOUT
        while "t" not in self._consumer.topics():  # it may take the answer to its very first request, which names no topics
            assert time.monotonic() < deadline
        self._found: deque[bytes] = deque()
        self._closed = False
        self._thread = ThreadPoolExecutor(1)
        self._polling = self._thread.submit(self._poll_on)

    def poll(self):
        with contextlib.suppress(TimeoutError):
            self._polling.result(STEP)
        return [self._found.popleft() for _ in range(len(self._found))]

    def partitions(self):
        return {found.partition for found in self._consumer.assignment()}

    def commit(self):
        self._thread.submit(self._commit).result(TIMEOUT)

    def close(self):
        if not self._closed:
            self._closed = True
            self._thread.submit(self._consumer.close, autocommit=False).result(TIMEOUT)
            self._thread.shutdown()

    def _poll_on(self):
        """Poll once, and let the next poll follow whatever was asked for meanwhile."""
        if not self._closed:
            self._poll()
            self._polling = self._thread.submit(self._poll_on)

    def _poll(self):
        for messages in self._consumer.poll(timeout_ms=int(STEP * 1000)).values():
            self._found += [message.value for message in messages]

    def _commit(self):
        """Complete a rebalance by polling first, as the library asks for."""
        while self._consumer.group_metadata().state == kafka.structs.MemberState.REBALANCING and not self._closed:
            self._poll()
        self._consumer.commit()


class AioKafka:
    """A consumer of aiokafka in the group g, on a loop that all of them share: its tasks go on while one of them polls."""

    def __init__(self, mock, instance=None):
        self._runner = mock.runner
        self._consumer = self._runner.run(self._start(mock, instance))

    @staticmethod
    async def _start(mock, instance):
        consumer = aiokafka.AIOKafkaConsumer(
            "t",
            bootstrap_servers=mock.bootstrap,
            group_id="g",
            group_instance_id=instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            retry_backoff_ms=10,
        )
        started = asyncio.ensure_future(consumer.start())  # it returns when it has joined, for which others may have to poll
        await asyncio.sleep(0)
        consumer.started = started
        return consumer

    def poll(self):
        return self._runner.run(self._poll())

    async def _poll(self):
        if not self._consumer.started.done():
            await asyncio.wait([self._consumer.started], timeout=STEP)
            return []
        found = await self._consumer.getmany(timeout_ms=int(STEP * 1000))
        return [message.value for messages in found.values() for message in messages]

    def partitions(self):
        return {found.partition for found in self._consumer.assignment()}

    def commit(self):
        self._runner.run(self._consumer.commit())

    def close(self):
        self._runner.run(self._consumer.stop())


@pytest.fixture
def mock():
    with MockCluster(3, topics={"t": PARTITIONS}) as cluster, asyncio.Runner() as runner:
        cluster.runner = runner  # type: ignore[attr-defined]
        yield cluster


@pytest.fixture(params=[Confluent, KafkaPython, AioKafka])
def member(request, mock):
    """Makes members of the group; those that are not closed are at the end."""
    with ExitStack() as stack:

        def make(instance: str | None = None) -> Any:
            made = request.param(mock, instance)
            stack.callback(made.close)
            return made

        yield make


def produce(mock, text):
    """One record for each partition; their values."""
    values = [f"{text} {partition}".encode() for partition in range(PARTITIONS)]
    for partition, value in enumerate(values):
        mock.produce("t", value, partition=partition)
    return values


def until(condition, *members):
    """Let members work until it is true; what they consumed meanwhile."""
    found: list[bytes] = []
    deadline = time.monotonic() + TIMEOUT
    while not condition(found):
        assert time.monotonic() < deadline, [one.partitions() for one in members]
        for one in members:
            found += one.poll()
    return found


def consume(values, *members):
    """Let members work until they have consumed these values, which may be twice after a rebalance, and no others."""
    found = until(lambda found: set(found) >= set(values), *members)
    assert set(found) == set(values)


def commit(mock, offset, *members):
    """Let members work until the same offset is committed for every partition."""

    def done(_found):
        for one in members:
            one.commit()
        return all(mock.committed("g", "t", partition) == offset for partition in range(PARTITIONS))

    until(done, *members)


def shared(*members):
    """True if the members share all partitions equally."""
    owned = [one.partitions() for one in members]
    fair = all(len(own) == PARTITIONS // len(members) for own in owned)
    return fair and set.union(*owned) == set(range(PARTITIONS))


def generation(mock):
    return mock.call(lambda: mock.groups.find("g").generation)


def test_two_members_share_and_resume(mock, member):
    one = member()
    consume(produce(mock, "first"), one)
    commit(mock, 1, one)
    two = member()
    until(lambda _: shared(one, two), one, two)
    consume(produce(mock, "second"), one, two)
    commit(mock, 2, one, two)
    two.close()
    until(lambda _: shared(one), one)
    values = produce(mock, "third")
    consume(values, one)
    one.close()
    again = member()
    consume(values, again)
    commit(mock, 3, again)


def test_static_members_come_back_without_a_rebalance(mock, member):
    one, two = member("one"), member("two")
    until(lambda _: shared(one, two), one, two)
    consume(produce(mock, "first"), one, two)
    commit(mock, 1, one, two)
    before, owned = generation(mock), two.partitions()
    two.close()
    two = member("two")
    until(lambda _: two.partitions() == owned, one, two)
    consume(produce(mock, "second"), one, two)
    assert generation(mock) == before


def test_members_follow_their_coordinator(mock, member):
    one = member()
    until(lambda _: shared(one), one)
    mock.move_coordinator("g", mock.coordinator("g") % 3 + 1)
    consume(produce(mock, "value"), one)
    commit(mock, 1, one)


@pytest.mark.parametrize(("release", "api_version"), [("0.9", (0, 9)), ("0.10.2", (0, 10, 2)), ("1.1", None), ("2.8", None)])
def test_groups_of_old_brokers(release, api_version):
    """In the versions of that time; those of 0.9 know neither a rebalance timeout nor throttling."""
    options = {} if api_version is None else {"api_version": api_version}
    with MockCluster(2, topics={"t": PARTITIONS}, version=release) as mock, ExitStack() as stack:
        members = [KafkaPython(mock, **options) for _ in range(2)]
        for one in members:
            stack.callback(one.close)
        until(lambda _: shared(*members), *members)
        consume(produce(mock, "value"), *members)
        commit(mock, 1, *members)

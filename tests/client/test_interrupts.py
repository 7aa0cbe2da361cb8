"""Ctrl-C at any moment of the blocking face, cancellation at any moment of the asyncio face: no record is lost or doubled."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import threading
import time
from typing import Any

import pytest

import kafkawire
import kafkawire.aio
from kafkawire.core.produce.partition_queue import CLOSED
from tests.client.faces import SOON
from tests.net.test_interrupts import Storm, what_python_cannot_help
from tests.requirements import CI

SECONDS = 2.0 if CI else 0.5
ENOUGH = 50
"""Interrupts that a storm has at least, however long it takes until they come."""
ROUND = 20_000
"""Records that are read again and again."""


def check_sent(kafka, topic, handles, counts):
    """Check that counts and handles agree with the log. `handles`: (value, metadata)."""
    stored = {(m.partition, m.offset): m.value for m in kafka.messages(topic)}
    values = list(stored.values())
    assert len(set(values)) == len(values), "a record was written twice"
    assert counts == (len(values), len(values), 0, 0)
    for value, metadata in handles:
        assert stored[metadata.partition, metadata.offset] == value


@pytest.mark.parametrize("how", ["alone", "with keys", "with everything", "many", "with a small buffer"])
def test_interrupts_while_sending(kafka, how):
    small: dict[str, Any] = {"buffer_memory": 20_000} if how == "with a small buffer" else {}
    called: list[Any] = []
    handles: list[Any] = []
    handle: Any
    number = 0
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=1, batch_size=5_000, **small) as p:
        p.send_many("many", [b"first %d" % i for i in range(4)]).result(timeout=SOON)
        end = time.monotonic() + SECONDS
        with what_python_cannot_help(), Storm(0.001) as storm:
            while time.monotonic() < end or storm.hits < ENOUGH:
                try:
                    storm.armed = True
                    for _ in range(50):
                        number += 1
                        value = b"%d" % number
                        if how == "many":
                            handle = p.send_many("many", [value + b" %d" % i for i in range(50)])
                        elif how == "with everything":
                            handle = p.send("many", value, value, None, number, [("h", value)], lambda _, m: called.append(m))
                        else:
                            handle = p.send("many", value, value if how == "with keys" else None)
                        handles.append((value, handle))
                    storm.armed = False
                except KeyboardInterrupt:
                    storm.armed = False
        p.flush(timeout=SOON)
        done: list[Any]
        if how == "many":
            done = [(b"%s %d" % (v, i), m) for v, h in handles for i, m in enumerate(h.result(timeout=SOON))]
        else:
            done = [(value, handle.result(timeout=SOON)) for value, handle in handles]
        check_sent(kafka, "many", done, p.counts())
        free = p._core.accumulator._free  # noqa: SLF001 - what leaks shows nowhere else before the buffer is gone
        many = p._core.accumulator.topics.get("many")  # noqa: SLF001
        assert many is not None
        assert free + sum(queue.open.granted for queue in many.queues if queue.open is not CLOSED) == p.options["buffer_memory"]
    if how.startswith("with "):
        assert all(m.key in (None, m.value) for m in kafka.messages("many"))
    if how == "with everything":
        assert len(called) == len(set(called))
        assert set(called) >= {metadata for _, metadata in done}
        assert all(m.timestamp == int(m.key) for m in kafka.messages("many") if m.key)


@pytest.mark.parametrize("started", [True, False])
def test_interrupts_while_the_threads_of_a_producer_start(kafka, monkeypatch, started):
    """Whether they had started or not, the next send() sees to it that there is one of each."""

    def interrupted_spawn(coro, done=None, name="kafkawire", **options):
        if name not in missing:
            return spawn(coro, done, name, **options)
        missing.remove(name)
        if started:
            spawn(coro, done, name)
        else:
            coro.close()
        raise KeyboardInterrupt

    missing = {"kafkawire-sender", "kafkawire-callbacks"}
    called: list[Any] = []
    with kafkawire.Connection(kafka.bootstrap) as connection, kafkawire.Producer(connection=connection) as p:
        spawn = connection.net.spawn
        monkeypatch.setattr(connection.net, "spawn", interrupted_spawn)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                p.send("one", b"v", on_delivery=lambda _, metadata: called.append(metadata))
        written = p.send("one", b"v", on_delivery=lambda _, metadata: called.append(metadata)).result(timeout=SOON)
    assert not missing
    assert called == [written]


class SendingStorm(Storm):
    """A signal handler that sends a record itself, as one does that logs to Kafka."""

    def __init__(self, pause: float, producer: kafkawire.Producer) -> None:
        super().__init__(pause)
        self._producer = producer
        self._numbers = itertools.count()  # handlers are interrupted by others

    def _handle(self, *_):
        try:
            self._producer.send("many", b"handler %d" % next(self._numbers))
            self.hits += 1
        except kafkawire.errors.ConcurrentUseError:
            pass


def test_a_signal_handler_that_sends_in_the_midst_of_send(kafka):
    """It gets its record in, or is told that it cannot: nothing is lost, and nothing waits for itself."""
    number = 0
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=1, batch_size=5_000) as p:
        p.send("many", b"first").result(timeout=SOON)
        end = time.monotonic() + SECONDS
        with SendingStorm(0.001, p) as storm:
            while time.monotonic() < end or storm.hits < ENOUGH:
                number += 1
                p.send("many", b"%d" % number, timestamp=None if number % 2 else number)
        p.flush(timeout=SOON)
        total = 1 + number + storm.hits
        assert p.counts() == (total, total, 0, 0)
    assert len({m.value for m in kafka.messages("many")}) == total


def read_on(consumer, found):
    # Not in the loop of the test: see `kafkawire.net.blocking` on loops within `try`.
    for message in consumer:
        found += (message.offset,)
        if len(found) % ROUND == 0:
            break


@pytest.mark.parametrize("how", ["poll", "poll_arrow", "iterate"])
def test_interrupts_while_reading(kafka, how):
    for at in range(0, ROUND, 500):
        kafka.produce("one", *(b"%d" % i for i in range(at, at + 500)))
    found: list[int] = []
    options: dict[str, Any] = {"auto_offset_reset": "earliest", "max_partition_fetch_bytes": 50_000, "max_poll_records": 20}
    with kafkawire.Consumer("one", bootstrap_servers=kafka.bootstrap, fetch_max_wait_ms=10, **options) as c:
        c.poll_arrow(timeout=SOON)  # an import that is interrupted is begun anew, and anew
        end = time.monotonic() + SECONDS
        with what_python_cannot_help(), Storm(0.002) as storm:
            while time.monotonic() < end or storm.hits < ENOUGH:
                if len(found) % ROUND == 0:
                    c.seek(("one", 0), 0)
                try:
                    storm.armed = True
                    if how == "iterate":
                        read_on(c, found)
                    elif how == "poll":
                        chunk = c.poll(timeout=SOON, max_records=7)
                        storm.armed = False
                        found += [message.offset for message in chunk]
                    else:
                        batch = c.poll_arrow(timeout=SOON, max_records=70)
                        storm.armed = False
                        found += batch.column("offset").to_pylist()
                    storm.armed = False
                except KeyboardInterrupt:
                    storm.armed = False
        assert found == [i % ROUND for i in range(len(found))]
        assert c.position(("one", 0), timeout=SOON) % ROUND == len(found) % ROUND


def test_an_interrupt_leaves_a_wait_at_once(kafka):
    """And what was waited for is still there."""
    kafka.drop("Produce", times=1)
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap, request_timeout_ms=2000) as p:
        d = p.send("one", b"v")
        for wait in (lambda: d.result(timeout=SOON), lambda: p.flush(timeout=SOON)):
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                wait()
            timer.join()
        assert d.result(timeout=SOON).offset == 0


def test_cancelled_sends(kafka):
    """Accepted records are written; records that a cancelled send() did not accept are not."""

    async def send(p, value, handles):
        handles.append((value, await p.send("many", value)))

    async def main():
        chance = random.Random(3)
        handles: list[Any] = []
        async with kafkawire.aio.Producer(
            bootstrap_servers=kafka.bootstrap, linger_ms=1, batch_size=2_000, buffer_memory=10_000
        ) as p:
            tasks = [asyncio.create_task(send(p, b"%d" % i + bytes(100), handles)) for i in range(3000)]
            waiters = [asyncio.create_task(p.flush(timeout=SOON)) for _ in range(20)]
            while not all(task.done() for task in tasks + waiters):
                await asyncio.sleep(chance.choice((0, 0, 0.001)))
                chance.choice(tasks + waiters).cancel()
            ends = await asyncio.gather(*tasks, *waiters, return_exceptions=True)
            assert {type(end) for end in ends} == {type(None), asyncio.CancelledError}
            await p.flush(timeout=SOON)
            assert p.counts().accepted == len(handles)
            return [(value, await handle) for value, handle in handles], p.counts()

    check_sent(kafka, "many", *asyncio.run(main()))


@pytest.mark.parametrize("how", ["poll", "iterate"])
def test_cancelled_reads(kafka, how):
    for at in range(0, 20_000, 500):
        kafka.produce("one", *(b"%d" % i for i in range(at, at + 500)))

    async def read(c, found):
        if how == "poll":
            while len(found) < 20_000:
                found += await c.poll(timeout=SOON, max_records=30)
                if len(found) % 70 == 0:
                    await asyncio.sleep(0)
            return
        async for message in c:
            found.append(message)
            if len(found) == 20_000:
                return

    async def main():
        chance = random.Random(4)
        found: list[Any] = []
        options: dict[str, Any] = {"auto_offset_reset": "earliest", "max_partition_fetch_bytes": 20_000, "max_poll_records": 20}
        async with kafkawire.aio.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
            cancelled = 0
            while len(found) < 20_000:
                task = asyncio.create_task(read(c, found))
                for _ in range(chance.randrange(8)):
                    await asyncio.sleep(chance.choice((0, 0, 0.001)))
                cancelled += task.cancel()
                await asyncio.wait([task])
            assert cancelled > 10
        return found

    assert [m.offset for m in asyncio.run(main())] == list(range(20_000))

"""Producers, consumers and connections that are dropped unclosed: they clean up, and say so."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import kafkawire
import kafkawire.aio
from kafkawire.connection import connect_for
from kafkawire.errors import ClosedError, WrongLoopError
from tests.client.faces import SOON

DESCRIPTORS = Path("/proc/self/fd")


def until(true):
    """Poll until something is true."""
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def our_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("kafkawire")]


@pytest.fixture
def heard():
    """The warnings that come, which are errors otherwise; without their source, which they would keep alive."""
    caught: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: caught.append(str(message))
        yield caught
        gc.collect()
    assert [text for text in caught if "unclosed" not in text] == []


def names(heard):
    return [text.split(" of ")[0] for text in heard if "kafkawire" in text]


def test_a_dropped_producer_sends_what_it_holds_and_ends(kafka, heard):
    p = kafkawire.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000)
    deliveries = [p.send("many", b"%d" % i) for i in range(1000)]
    del p
    gc.collect()
    assert names(heard) == ["unclosed kafkawire.Producer"]
    assert kafka.bootstrap in heard[0]
    assert all(d.exception(timeout=SOON) is None for d in deliveries)
    until(lambda: not our_threads())
    assert len(kafka.messages("many")) == 1000


def test_callbacks_of_a_dropped_producer_are_called(kafka, heard):
    called: list[Any] = []
    kafkawire.Producer(bootstrap_servers=kafka.bootstrap).send("one", b"v", on_delivery=lambda *outcome: called.append(outcome))
    gc.collect()
    until(lambda: called)
    assert called[0][0] is None
    until(lambda: not our_threads())
    assert names(heard) == ["unclosed kafkawire.Producer"]


def test_a_dropped_producer_gives_up_when_its_records_expire(kafka, heard, caplog):
    kafka.drop("Produce")
    kafkawire.Producer(bootstrap_servers=kafka.bootstrap, delivery_timeout_ms=200).send("one", b"v")
    gc.collect()
    until(lambda: "1 record was not acknowledged" in caplog.text)
    assert names(heard) == ["unclosed kafkawire.Producer"]


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="descriptors are counted in /proc")
def test_dropped_clients_leave_no_descriptors(kafka, heard):
    def use():
        p = kafkawire.Producer(bootstrap_servers=kafka.bootstrap)
        p.send("one", b"v").result(timeout=SOON)
        c = kafkawire.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
        assert c.poll(timeout=SOON)

    use()
    gc.collect()
    until(lambda: not our_threads())
    before = len(list(DESCRIPTORS.iterdir()))
    for _ in range(60):
        use()
    gc.collect()
    until(lambda: not our_threads() and len(list(DESCRIPTORS.iterdir())) <= before + 3)  # the mock's own come and go
    assert sorted(names(heard)) == ["unclosed kafkawire.Consumer"] * 61 + ["unclosed kafkawire.Producer"] * 61


def test_a_shared_connection_lives_until_the_last_record_is_sent(kafka, heard):
    fault = kafka.delay("Produce", 0.5)
    connection = kafkawire.Connection(kafka.bootstrap)
    delivery = kafkawire.Producer(connection=connection, linger_ms=60_000).send("one", b"v")
    net = connection.net
    del connection
    gc.collect()
    assert delivery.result(timeout=SOON).offset == 0
    fault.clear()
    until(lambda: not our_threads())
    assert sorted(names(heard)) == ["unclosed kafkawire.Connection", "unclosed kafkawire.Producer"]
    with pytest.raises(ClosedError):
        net.spawn(_nothing())


async def _nothing():
    pass


@pytest.mark.parametrize("end", ["close", "drop"])
def test_a_consumer_closes_every_connection_of_its_own_as_it_ends(kafka, heard, end):
    class WithBackground(kafkawire.Consumer):
        """Has a second connection, as for heartbeats, with a driver of its own."""

        def add_connection(self) -> list[Any]:
            background = connect_for(None, self.options)[0]
            assert background.topics(timeout=SOON)
            self._owned = [*self._owned, background]
            return [connection.net for connection in self._owned]

    c = WithBackground("one", bootstrap_servers=kafka.bootstrap)
    nets = c.add_connection()
    if end == "close":
        c.close()
    del c
    gc.collect()
    until(lambda: all(net.closed for net in nets) and not our_threads())
    assert names(heard) == []
    assert len(heard) == (end == "drop")


def test_a_dropped_consumer_leaves_a_shared_connection_to_the_others(kafka, heard):
    kafka.produce("one", b"v")
    with kafkawire.Connection(kafka.bootstrap) as connection:
        assert kafkawire.Consumer("one", connection=connection, auto_offset_reset="earliest").poll(timeout=SOON)
        gc.collect()
        assert names(heard) == ["unclosed kafkawire.Consumer"]
        assert connection.topics(timeout=SOON) == ["many", "one"]
        with kafkawire.Consumer("one", connection=connection, auto_offset_reset="earliest") as c:
            assert c.poll(timeout=SOON)


def test_what_was_closed_or_never_made_says_nothing(kafka, heard):
    kafkawire.Producer(bootstrap_servers=kafka.bootstrap).close()
    kafkawire.Consumer("one", bootstrap_servers=kafka.bootstrap).close()
    kafkawire.Connection(kafka.bootstrap).close()
    for make in (kafkawire.Producer, kafkawire.Consumer, kafkawire.Connection):
        with pytest.raises(kafkawire.errors.ConfigurationError):
            make(bootstrap_servers="nowhere")
    gc.collect()
    assert heard == []


def test_a_cycle_is_collected_too(kafka, heard):
    class Application:
        def __init__(self) -> None:
            self.producer = kafkawire.Producer(bootstrap_servers=kafka.bootstrap)
            self.me = self

    Application().producer.send("one", b"v")
    gc.collect()
    assert names(heard) == ["unclosed kafkawire.Producer"]
    until(lambda: len(kafka.messages("one")) == 1)
    until(lambda: not our_threads())


def test_dropped_in_asyncio(kafka, heard):
    async def main():
        p = kafkawire.aio.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000)
        deliveries = [await p.send("many", b"%d" % i) for i in range(100)]
        c = kafkawire.aio.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
        del p
        gc.collect()
        assert [(await d).topic for d in deliveries] == ["many"] * 100
        assert await c.poll(timeout=SOON)
        del c
        gc.collect()
        async with asyncio.timeout(SOON):
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    asyncio.run(main())
    assert names(heard) == ["unclosed kafkawire.aio.Producer", "unclosed kafkawire.aio.Consumer"]


def test_dropped_after_the_end_of_the_loop(kafka, heard, caplog):
    async def main():
        p = kafkawire.aio.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000)
        await p.send("one", b"v")
        return p

    loop = asyncio.new_event_loop()
    p = loop.run_until_complete(main())
    loop.close()
    del p
    gc.collect()
    assert "the event loop ended: 1 record was not acknowledged" in caplog.text
    assert "pending" not in caplog.text


@pytest.mark.parametrize("kind", ["Producer", "Consumer", "Connection"])
@pytest.mark.parametrize("first", ["open", "closed"])
def test_closing_in_another_loop_is_an_error_at_once(kafka, heard, kind, first):
    async def main():
        made = getattr(kafkawire.aio, kind)(bootstrap_servers=kafka.bootstrap)
        if kind == "Producer":
            await (await made.send("one", b"v"))
        elif kind == "Consumer":
            made.assign([("one", 0)])
            await made.poll(timeout=0.05)
        else:
            await made.topics()
        return made

    loop = asyncio.new_event_loop()
    made = loop.run_until_complete(main())
    if first == "closed":
        loop.close()
    with pytest.raises(
        WrongLoopError, match="another event loop, which " + ("is closed" if first == "closed" else "still runs")
    ):
        asyncio.run(made.close())
    if first == "open":
        loop.run_until_complete(made.close())
        loop.close()

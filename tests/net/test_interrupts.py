"""Ctrl-C at any moment of the blocking driver, cancellation at any moment of the asyncio driver: nothing of others breaks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing

import pytest

from kafkawire.errors import ConnectionLost
from kafkawire.net import aio, blocking, threads
from kafkawire.net.base import call
from tests.net.drivers import SOON, connect, until
from tests.net.server import SILENT, Server, echo, frame, payload

KILLER = """
import os, random, sys, time
target = os.getppid()
while os.getppid() == target:
    time.sleep(random.random() * float(sys.argv[1]))
    os.kill(target, 2)
"""


class Storm:
    """SIGINT after SIGINT; `armed` says whether the handler raises KeyboardInterrupt.

    Another process sends them: a thread of this one would hold the interpreter's lock while it does, so that they would only
    arrive where the main thread waits for that lock.
    """

    def __init__(self, pause: float) -> None:
        self.armed = False
        self.hits = 0
        self._pause = pause

    def _handle(self, *_):
        if self.armed:
            self.armed = False
            self.hits += 1
            raise KeyboardInterrupt

    def __enter__(self):
        self._before = signal.signal(signal.SIGINT, self._handle)
        self._killer = subprocess.Popen([sys.executable, "-c", KILLER, str(self._pause)])
        return self

    def __exit__(self, *exc_info):
        self.armed = False
        self._killer.kill()
        self._killer.wait()
        signal.signal(signal.SIGINT, self._before)


@contextlib.contextmanager
def what_python_cannot_help():
    """An interrupt between making a coroutine and its first step, or in a finaliser, which swallows it."""

    def report(unraisable):
        if unraisable.exc_type is not KeyboardInterrupt:
            before(unraisable)

    before, sys.unraisablehook = sys.unraisablehook, report
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="coroutine .* was never awaited")
            yield
    finally:
        sys.unraisablehook = before


def storm(seconds: float) -> tuple[int, int]:
    """The main thread calls under a storm of interrupts; other threads call over the same link and over one of their own."""

    def bystander(link):
        try:
            i = 0
            while not over.is_set():
                i += 1
                assert int(payload(blocking.run(call(net, link, echo(i), net.now() + SOON)))) == i
            calls.append(i)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            errors.append(error)

    errors: list[BaseException] = []
    calls: list[int] = []
    over = threading.Event()
    trips = 0
    with Server() as server, closing(blocking.Net()) as net:
        shared, own = blocking.run(connect(net, server)), blocking.run(connect(net, server))
        bystanders = [threading.Thread(target=bystander, args=(link,)) for link in (shared, own)]
        for thread in bystanders:
            thread.start()
        end = time.monotonic() + seconds
        with what_python_cannot_help(), Storm(0.002) as interrupts:
            while time.monotonic() < end and not errors:
                try:
                    interrupts.armed = True
                    answer = blocking.run(call(net, shared, echo(-trips), net.now() + SOON))
                    interrupts.armed = False
                except KeyboardInterrupt:
                    continue
                assert int(payload(answer)) == -trips
                trips += 1
            hits = interrupts.hits
        over.set()
        for thread in bystanders:
            thread.join(SOON)
        assert not any(thread.is_alive() for thread in bystanders), "a thread hangs"
        if errors:
            raise errors[0]
        assert shared.error is None
        assert own.error is None
        assert all(calls)
    return trips, hits


def test_a_storm_of_interrupts_loses_no_link_and_no_reply():
    trips, hits = storm(2.0)
    assert trips
    assert hits


@pytest.mark.heavy
def test_a_long_storm_of_interrupts_loses_no_link_and_no_reply():
    trips, hits = storm(30.0)
    assert trips
    assert hits > 1000


def test_interrupts_while_big_requests_are_written():
    """A request is written whole or not at all, whatever the interrupt did to its caller."""
    with Server() as server, closing(blocking.Net()) as net:
        link = blocking.run(connect(net, server))
        end = time.monotonic() + 2.0
        sent = 0
        with what_python_cannot_help(), Storm(0.001) as interrupts:
            while time.monotonic() < end:
                try:
                    interrupts.armed = True
                    blocking.run(call(net, link, frame(0, b"%6d" % sent + bytes(300_000)), net.now() + SOON))
                    interrupts.armed = False
                except KeyboardInterrupt:
                    pass
                sent += 1
        assert link.error is None
        assert payload(blocking.run(call(net, link, echo(1), net.now() + SOON))) == b"1"


def test_interrupts_while_links_are_made_and_closed():
    """A socket that an interrupted connect opened is closed with the net, and the next connect works."""
    with Server() as server, closing(blocking.Net()) as net:
        end = time.monotonic() + 1.0
        with what_python_cannot_help(), warnings.catch_warnings(), Storm(0.002) as interrupts:
            # Between socket() and the line that keeps its result there is no place to stand.
            warnings.filterwarnings("ignore", category=ResourceWarning)
            while time.monotonic() < end:
                try:
                    interrupts.armed = True
                    blocking.run(connect(net, server)).close()
                    interrupts.armed = False
                except KeyboardInterrupt:
                    pass
        link = blocking.run(connect(net, server))
        assert payload(blocking.run(call(net, link, echo(1), net.now() + SOON))) == b"1"


def test_interrupts_while_threads_are_started_stop_none_of_them():
    """Each runs to its end, or is not started at all; and what comes out is the interrupt."""
    before = threading.active_count()
    ran: list[None] = []
    end = time.monotonic() + 2.0
    with what_python_cannot_help(), Storm(0.001) as interrupts:
        while time.monotonic() < end:
            try:
                interrupts.armed = True
                threads.start(lambda: ran.append(None), "kafkawire-short")
                interrupts.armed = False
            except KeyboardInterrupt:
                pass
        assert interrupts.hits
    deadline = time.monotonic() + SOON
    while threading.active_count() > before:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)
    assert ran


def test_a_thread_that_the_system_has_no_room_for_still_runs(monkeypatch):
    """It runs in the one that was to start it, which was the last."""

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    ran = threading.Event()
    threads.start(ran.set, "kafkawire-last")
    assert ran.wait(SOON)


def test_an_interrupt_leaves_a_wait_at_once():
    async def wait_for_nothing():
        await call(net, link, frame(SILENT), net.now() + SOON)

    with Server() as server, closing(blocking.Net()) as net:
        link = blocking.run(connect(net, server))
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = net.now()
        with pytest.raises(KeyboardInterrupt):
            blocking.run(wait_for_nothing())
        assert net.now() - started < SOON
        assert payload(blocking.run(call(net, link, echo(1), net.now() + SOON))) == b"1"


def test_random_cancellation_loses_no_link():
    async def caller(net, link, number):
        for i in range(5):
            assert payload(await call(net, link, echo(number * 10 + i), net.now() + SOON)) == b"%d" % (number * 10 + i)

    async def main():
        chance = random.Random(7)
        net = aio.Net()
        link = await connect(net, server)
        tasks = [asyncio.ensure_future(caller(net, link, number)) for number in range(600)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(chance.choice((0, 0, 0.0005)))
            chance.choice(tasks).cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(end) for end in ends} == {type(None), asyncio.CancelledError}
        assert link.error is None
        assert payload(await call(net, link, echo(1), net.now() + SOON)) == b"1"
        await net.close()
        assert not net.links

    with Server() as server:
        asyncio.run(main())


def test_cancelled_connects_leave_no_connection_open():
    async def main():
        chance = random.Random(3)
        net = aio.Net()
        for _ in range(100):
            task = asyncio.ensure_future(connect(net, server))
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                (await task).close()
        await until(net, lambda: not net.links, net.now() + SOON)
        await net.close()

    with Server() as server:
        asyncio.run(main())


def test_cancelling_the_loops_main_task_ends_spawned_flows():
    async def main():
        net = aio.Net()
        link = await connect(net, server)
        ended = net.signal()
        task = net.spawn(call(net, link, frame(SILENT), net.now() + SOON), ended)
        await net.wait(net.signal(), net.now() + 0.01)
        link.fail(ConnectionLost("enough"))
        assert await net.wait(ended, net.now() + SOON)
        assert str(task.error) == "enough"
        net.spawn(net.wait(net.signal()))
        # The loop's end cancels the last flow; asyncio would log if it did not go.

    with Server() as server:
        asyncio.run(main())

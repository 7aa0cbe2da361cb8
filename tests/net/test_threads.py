from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
import time
from contextlib import closing

import pytest

from kafkawire.errors import ClosedError, ConnectError, ConnectionLost, ForkedError
from kafkawire.net import aio, blocking, threads
from kafkawire.net.base import call
from tests.net.drivers import SOON, both_drivers, connect, run_blocking
from tests.net.server import SILENT, Server, echo, frame, payload


@pytest.fixture
def hasty_switching():
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(count, work):
    """Run work(number) in threads; raises what the first of them raised."""
    errors = []

    def body(number):
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            errors.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SOON)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]


def test_many_threads_share_a_link():
    def user(number):
        for i in range(100):
            answer = blocking.run(call(net, link, echo(number * 1000 + i), net.now() + SOON))
            assert int(payload(answer)) == number * 1000 + i

    with Server() as server, closing(blocking.Net()) as net:
        link = blocking.run(connect(net, server))
        in_threads(8, user)


def test_a_thread_that_waits_forever_does_not_hold_up_the_others():
    """Replies reach all threads whichever thread leads; a leader that leaves hands over."""

    def patient():
        with pytest.raises(ConnectionLost):
            blocking.run(call(net, link, frame(SILENT), net.now() + SOON))

    def user(_):
        for i in range(50):
            assert int(payload(blocking.run(call(net, link, echo(i), net.now() + SOON)))) == i

    with Server() as server, closing(blocking.Net()) as net:
        link = blocking.run(connect(net, server))
        waiter = threading.Thread(target=patient)
        waiter.start()
        in_threads(3, user)
        link.close()
        waiter.join(SOON)
        assert not waiter.is_alive()


def test_closing_waits_for_a_flow_whose_thread_is_still_to_come(monkeypatch):
    def late(thread):
        while net._error is None:  # noqa: SLF001 - what close() does first
            time.sleep(0.001)
        thread.start()

    async def sleeper():
        await net.wait(net.signal())

    monkeypatch.setattr(threads, "_start", late)
    net = blocking.Net()
    task = net.spawn(sleeper())
    net.close()
    assert isinstance(task.error, ClosedError)


async def wait_for(net, signal):
    deadline = net.now() + SOON
    assert await net.wait(signal, deadline)
    assert net.now() < deadline, "the deadline ended the wait, not the signal"


@both_drivers
@pytest.mark.usefixtures("hasty_switching")
def test_a_signal_is_set_from_another_thread(run):
    async def flow(net):
        chance = random.Random(1)
        for _ in range(200):
            signal = net.signal()
            threading.Timer(chance.random() * 0.001, signal.set).start()
            await wait_for(net, signal)

    run(flow)


@both_drivers
@pytest.mark.usefixtures("hasty_switching")
def test_a_signal_reaches_a_flow_that_polls(run):
    async def flow(net):
        chance = random.Random(1)
        link = await connect(net, server)
        for _ in range(200):
            signal = net.signal()
            link.send(frame(SILENT), signal)
            threading.Timer(chance.random() * 0.001, signal.set).start()
            await wait_for(net, signal)

    with Server() as server:
        run(flow)


@both_drivers
def test_another_flow_asks_on_behalf_of_one_that_waits(run):
    """Its owner waits with nothing outstanding, so nobody polls yet."""

    async def owner(net, signal):
        await wait_for(net, signal)

    async def flow(net):
        link, signal, ended = await connect(net, server), net.signal(), net.signal()
        task = net.spawn(owner(net, signal), ended)
        await net.wait(net.signal(), net.now() + 0.02)
        pending = link.send(echo(1), signal)
        await wait_for(net, ended)
        assert task.error is None
        assert payload(pending.result()) == b"1"

    with Server() as server:
        run(flow)


def test_asyncio_links_are_used_from_other_threads():
    async def main():
        net = aio.Net()
        link, signals = await connect(net, server), [net.signal() for _ in range(50)]
        pendings: list = []
        sender = threading.Thread(target=lambda: pendings.extend(link.send(echo(i), s) for i, s in enumerate(signals)))
        sender.start()
        for signal in signals:
            assert await net.wait(signal, net.now() + SOON)
        sender.join()
        assert [int(payload(pending.result())) for pending in pendings] == list(range(50))
        last = link.send(frame(SILENT), net.signal())
        closer = threading.Thread(target=link.close)
        closer.start()
        assert await net.wait(last.signal, net.now() + SOON)
        closer.join()
        assert isinstance(last.error, ConnectionLost)
        await net.close()

    with Server() as server:
        asyncio.run(main())


def test_signals_set_after_the_loop_has_ended_are_harmless():
    async def main():
        net = aio.Net()
        signal = net.signal()
        signal.future = net.loop.create_future()
        return signal

    signal = asyncio.run(main())
    setter = threading.Thread(target=signal.set)
    setter.start()
    setter.join()
    assert signal.flag


class Crowd:
    """Threads that call over shared links, wait for each other's signals, give up early, and cut links."""

    def __init__(self, seconds: float, *, cut: bool) -> None:
        self.net = blocking.Net()
        self.end = time.monotonic() + seconds
        self.cut = cut
        self.links: list = [None, None]
        self.replies = 0

    def link(self, server, index):
        link = self.links[index]
        if link is None or link.error is not None:
            link = self.links[index] = blocking.run(connect(self.net, server))
        return link

    def run(self, server):
        self.going = [self.net.signal() for _ in range(4)]
        try:
            in_threads(8, lambda number: (self.caller if number < 4 else self.relay)(server, number))
        finally:
            self.net.close()

    def caller(self, server, number):
        chance = random.Random(number)
        while time.monotonic() < self.end:
            link = self.link(server, chance.randrange(2))
            try:
                if chance.random() < 0.1:
                    link.send(frame(SILENT), self.net.signal())
                if self.cut and chance.random() < 0.02:
                    link.close()
                signal = self.net.signal()
                pendings = [link.send(echo(i), signal) for i in range(chance.randint(1, 5))]
                if chance.random() < 0.1:
                    continue
                deadline = self.net.now() + SOON
                while True:
                    signal.clear()
                    if all(pending.done for pending in pendings):
                        break
                    assert blocking.run(self.net.wait(signal, deadline)), "a wake-up was lost"
                assert [int(payload(pending.result())) for pending in pendings] == list(range(len(pendings)))
                self.replies += 1
            except (ConnectionLost, ConnectError):
                assert self.cut

    def relay(self, _server, number):
        """Four threads pass a signal round, each waiting without any reply outstanding."""
        mine, following = self.going[number - 4], self.going[(number - 3) % 4]
        if number == 4:
            mine.set()
        while time.monotonic() < self.end:
            assert blocking.run(self.net.wait(mine, self.net.now() + SOON)), "a wake-up was lost"
            mine.clear()
            following.set()
        following.set()


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.usefixtures("hasty_switching")
def test_no_wake_up_is_lost_in_a_crowd(cut):
    with Server() as server:
        crowd = Crowd(1.0, cut=cut)
        crowd.run(server)
        assert crowd.replies > 20


@pytest.mark.heavy
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.usefixtures("hasty_switching")
def test_no_wake_up_is_lost_in_a_crowd_for_long(cut):
    with Server() as server:
        crowd = Crowd(20.0, cut=cut)
        crowd.run(server)
        assert crowd.replies > 500


@pytest.mark.parametrize("make", [blocking.Net, lambda: aio.Net(asyncio.new_event_loop())])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_forked_child_has_no_use_of_an_idle_net(make):
    net = make()
    assert in_child(lambda: refuses(lambda: net.spawn(net.wait(net.signal())))) == 0
    closing = net.close()
    if closing is not None:
        net.loop.run_until_complete(closing)
        net.loop.close()


def refuses(action):
    try:
        action()
    except ForkedError:
        return
    raise AssertionError("no ForkedError")


def in_child(*actions) -> int:
    """The exit code of a forked child that takes these actions: 0 if they raise nothing."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for action in actions:
                action()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_forked_child_leaves_the_parents_blocking_link_alone():
    async def flow(net):
        link = await connect(net, server)
        signal = net.signal()
        outstanding = link.send(frame(SILENT), net.signal())
        code = in_child(
            lambda: refuses(lambda: link.send(echo(1), net.signal())),
            lambda: refuses(lambda: blocking.run(net.wait(signal, net.now() + SOON))),
            lambda: refuses(lambda: blocking.run(connect(net, server))),
            link.close,
            net.close,
        )
        assert code == 0
        assert payload(await call(net, link, echo(2), net.now() + SOON)) == b"2"
        assert not outstanding.done

    with Server() as server:
        run_blocking(flow)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_forked_child_leaves_the_parents_asyncio_link_alone():
    async def main():
        net = aio.Net()
        link = await connect(net, server)
        code = in_child(
            lambda: refuses(lambda: link.send(echo(1), net.signal())),
            lambda: refuses(lambda: net.wait(net.signal(), 0.0).send(None)),
            lambda: refuses(lambda: net.connect("127.0.0.1", 1, None, 0.0).send(None)),
            link.close,
        )
        assert code == 0
        assert payload(await call(net, link, echo(2), net.now() + SOON)) == b"2"
        await net.close()

    with Server() as server:
        asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_child_forked_while_another_thread_leads():
    def leads():
        with pytest.raises(ConnectionLost):
            blocking.run(call(net, link, frame(SILENT), net.now() + SOON))

    with Server() as server, closing(blocking.Net()) as net:
        link = blocking.run(connect(net, server))
        leader = threading.Thread(target=leads)
        leader.start()
        for _ in range(20):
            assert in_child(lambda: refuses(lambda: link.send(echo(1), net.signal())), net.close) == 0
            assert payload(blocking.run(call(net, link, echo(2), net.now() + SOON))) == b"2"
        link.close()
        leader.join(SOON)

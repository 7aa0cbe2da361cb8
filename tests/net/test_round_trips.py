from __future__ import annotations

import asyncio
import selectors
import struct
import tracemalloc

import pytest

from kafkawire.errors import ClosedError, ConnectionLost, NotKafkaError, RequestTimedOut
from kafkawire.net import aio, blocking
from kafkawire.net.base import call, join
from kafkawire.protocol.frames import RequestFrame
from tests.net.drivers import SOON, both_drivers, connect, run_blocking
from tests.net.server import CUT, ECHO, HANG_UP, SILENT, SLOWLY, STALL, Server, big, echo, frame, payload

CLAIMED = 20_000_000
"""Bytes that a response says to have."""


@both_drivers
def test_a_reply_comes_back(run):
    async def flow(net):
        link = await connect(net, server)
        return payload(await call(net, link, frame(ECHO, b"hello"), net.now() + SOON))

    with Server() as server:
        assert run(flow) == b"hello"


@both_drivers
def test_requests_in_flight_get_their_own_replies(run):
    async def flow(net):
        link, signal = await connect(net, server), net.signal()
        pendings = [link.send(echo(i), signal) for i in range(500)]
        deadline = net.now() + SOON
        while True:
            signal.clear()
            if all(pending.done for pending in pendings):
                break
            assert await net.wait(signal, deadline)
        return [int(payload(pending.result())) for pending in pendings]

    with Server() as server:
        assert run(flow) == list(range(500))


@both_drivers
def test_failing_a_link_again_wakes_nobody(run):
    async def flow(net):
        link, signal = await connect(net, server), net.signal()
        pending = link.send(frame(SILENT), signal)
        link.fail(ConnectionLost("first"))
        await net.wait(signal, net.now() + SOON)
        for again in (link.close, lambda: link.fail(ConnectionLost("second"))):
            signal.clear()
            again()
            assert not signal.flag
        assert str(pending.error) == str(link.error) == "first"

    with Server() as server:
        run(flow)


@both_drivers
@pytest.mark.parametrize("size", [256, 65_536, 3_000_064])
def test_replies_of_any_size(run, size):
    async def flow(net):
        link = await connect(net, server)
        first = await call(net, link, big(size), net.now() + SOON)
        assert payload(await call(net, link, echo(7), net.now() + SOON)) == b"7"
        return payload(first)

    with Server() as server:
        assert run(flow) == bytes(range(256)) * (size // 256)


@both_drivers
def test_requests_bigger_than_socket_buffers(run):
    data = [bytes([i]) * 20_000_000 for i in range(3)]

    async def flow(net):
        link = await connect(net, server)
        request = frame(ECHO)
        request.tail, request.size = [b"", *data], sum(map(len, data))
        return payload(await call(net, link, request, net.now() + SOON))

    with Server() as server:
        assert run(flow) == b"".join(data)


@both_drivers
def test_replies_that_trickle_in(run):
    async def flow(net):
        link = await connect(net, server)
        return [payload(await call(net, link, frame(SLOWLY, b"x" * 50), net.now() + SOON)) for _ in range(3)]

    with Server() as server:
        assert run(flow) == [b"x" * 50] * 3


@both_drivers
def test_a_request_without_reply_is_done_at_once(run):
    async def flow(net):
        link = await connect(net, server)
        pending = link.send(frame(SILENT, b"acks=0"), None)
        assert pending.done
        assert pending.result() == b""
        await call(net, link, echo(1), net.now() + SOON)
        return server.requests

    with Server() as server:
        assert run(flow) == 2


@both_drivers
def test_trap_12_a_deadline_leaves_the_link_up_and_the_late_reply_is_dropped(run):
    async def flow(net):
        link = await connect(net, server)
        with pytest.raises(RequestTimedOut):
            await call(net, link, big(50_000_128), net.now())
        assert link.error is None
        return payload(await call(net, link, echo(5), net.now() + SOON))

    with Server() as server:
        assert run(flow) == b"5"


@both_drivers
@pytest.mark.parametrize("end", [CUT, HANG_UP])
def test_a_connection_that_ends_completes_every_pending(run, end):
    async def flow(net):
        link, signals = await connect(net, server), [net.signal() for _ in range(20)]
        pendings = [link.send(frame(SILENT), signal) for signal in signals]
        with pytest.raises(ConnectionLost):
            await call(net, link, frame(end, b"x" * 100), net.now() + SOON)
        for signal, pending in zip(signals, pendings, strict=True):
            assert await net.wait(signal, net.now() + SOON)
            assert isinstance(pending.error, ConnectionLost)
            with pytest.raises(ConnectionLost):
                pending.result()
        with pytest.raises(ConnectionLost):
            await call(net, link, echo(1), net.now() + SOON)

    with Server() as server:
        run(flow)


@both_drivers
def test_close_and_fail_complete_pendings_once_with_the_first_error(run):
    async def flow(net):
        link, signal = await connect(net, server), net.signal()
        pending = link.send(frame(SILENT), signal)
        link.fail(ConnectionLost("first"))
        link.close()
        link.close()
        assert str(pending.error) == "first"
        assert signal.flag
        assert str(link.error) == "first"

    with Server() as server:
        run(flow)


@both_drivers
def test_http_on_the_port(run):
    async def flow(net):
        link = await connect(net, server)
        await call(net, link, echo(1), net.now() + SOON)

    with Server(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as server, pytest.raises(NotKafkaError, match="HTTP"):
        run(flow)


@both_drivers
def test_a_frame_of_impossible_size_takes_the_link_down(run):
    async def flow(net):
        link = await connect(net, server)
        await call(net, link, echo(1), net.now() + SOON)

    with Server(greeting=b"\xff\xff\xff\xff") as server, pytest.raises(ValueError, match="malformed"):
        run(flow)


@both_drivers
def test_a_link_that_is_down_keeps_no_part_of_a_response(run):
    """It may be remembered in an error's traceback for long, and a size is easily claimed."""

    async def flow(net):
        before = tracemalloc.get_traced_memory()[0]
        link, other = await connect(net, claiming), await connect(net, answering)
        with pytest.raises(RequestTimedOut):
            await call(net, link, echo(1), net.now() + 0.2)
        assert tracemalloc.get_traced_memory()[0] - before > 0.9 * CLAIMED
        link.fail(ConnectionLost("too slow"))
        end = net.now() + SOON
        while tracemalloc.get_traced_memory()[0] - before > 0.1 * CLAIMED:
            await call(net, other, echo(1), end)
        assert str(link.error) == "too slow"

    tracemalloc.start()
    try:
        with Server(greeting=struct.pack(">i", CLAIMED) + bytes(100)) as claiming, Server() as answering:
            run(flow)
    finally:
        tracemalloc.stop()


@both_drivers
def test_a_stalled_broker_delays_nobody(run):
    async def flow(net):
        stalled, healthy = await connect(net, server), await connect(net, server)
        signal = net.signal()
        pendings = [stalled.send(frame(STALL), signal)]
        pendings += [stalled.send(frame(ECHO, bytes(1_000_000)), signal) for _ in range(30)]
        for i in range(200):
            assert payload(await call(net, healthy, echo(i), net.now() + SOON)) == b"%d" % i
        assert not any(pending.done for pending in pendings)
        stalled.close()
        assert all(isinstance(pending.error, ConnectionLost) for pending in pendings)

    with Server() as server:
        run(flow)


@both_drivers
def test_unanswered_requests_are_written_although_only_an_idle_flow_waits(run):
    """acks=0: more than the socket takes, and nobody has a reply outstanding."""

    async def flow(net):
        link = await connect(net, server)
        for _ in range(40):
            link.send(frame(SILENT, bytes(1_000_000)), None)
        deadline = net.now() + SOON
        while server.requests < 40:
            assert net.now() < deadline
            await net.wait(net.signal(), net.now() + 0.01)

    with Server() as server:
        run(flow)


@both_drivers
def test_spawned_flows_report_their_end(run):
    async def good():
        return 42

    async def bad():
        raise ValueError("no")

    async def flow(net):
        ends = [net.signal(), net.signal()]
        tasks = [net.spawn(good(), ends[0]), net.spawn(bad(), ends[1])]
        for task, end in zip(tasks, ends, strict=True):
            assert await join(net, task, end, net.now() + SOON)
        assert tasks[0].value == 42
        assert tasks[0].error is None
        assert isinstance(tasks[1].error, ValueError)

    run(flow)


@both_drivers
def test_closing_the_net_ends_waiting_flows_and_links(run):
    async def sleeper(net):
        await net.wait(net.signal())

    async def asker(net, link):
        await call(net, link, frame(SILENT), net.now() + SOON)

    async def flow(net):
        link = await connect(net, server)
        tasks = [net.spawn(sleeper(net)), net.spawn(asker(net, link))]
        await call(net, link, echo(1), net.now() + SOON)
        closing = net.close()
        if closing is not None:
            await closing
        assert [type(task.error) for task in tasks] in ([ClosedError, ConnectionLost], [ClosedError, ClosedError])
        assert isinstance(link.error, ConnectionLost)
        with pytest.raises(ClosedError):
            await net.wait(net.signal(), net.now() + SOON)
        with pytest.raises(ClosedError):
            await connect(net, server)
        with pytest.raises(ClosedError):
            net.spawn(sleeper(net))

    with Server() as server:
        run(flow)


class CountingSelector(selectors.DefaultSelector):
    polls = 0

    def select(self, timeout=None):
        self.polls += 1
        return super().select(timeout)


def test_an_empty_part_does_not_keep_the_loop_busy():
    async def main():
        net = aio.Net()
        link = await connect(net, server)
        request = RequestFrame(ECHO, 0, [b"hello", b""], 5)
        assert payload(await call(net, link, request, net.now() + SOON)) == b"hello"
        before = selector.polls
        await net.wait(net.signal(), net.now() + 0.05)
        after = selector.polls
        await net.close()
        return after - before

    selector = CountingSelector()
    with Server() as server, asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        assert runner.run(main()) < 10


def test_the_blocking_driver_works_inside_a_running_loop():
    async def flow(net):
        link = await connect(net, server)
        return payload(await call(net, link, echo(3), net.now() + SOON))

    async def notebook():
        return run_blocking(flow)

    with Server() as server:
        assert asyncio.run(notebook()) == b"3"


def test_a_flow_that_awaits_something_else_is_refused():
    async def flow(_net):
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match=r"net\.wait"):
        run_blocking(flow)


def test_a_closed_blocking_net_can_be_closed_again():
    net = blocking.Net()
    net.close()
    net.close()

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from kafkawire.errors import ConnectError
from kafkawire.net import connect as connecting
from kafkawire.net.base import call
from tests.net.drivers import SOON, both_drivers, connect
from tests.net.server import Server, echo, payload


@pytest.fixture
def refused():
    """A port of which the system says that nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def black_hole():
    """A listener whose queue is full, so that connects get no answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        fillers = []
        try:
            for _ in range(8):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(address)
                fillers.append(filler)
            yield address[1]
        finally:
            for filler in fillers:
                filler.close()


@pytest.fixture
def addresses(monkeypatch):
    """Says what names resolve to: this host's own resolver is not under test."""
    table: dict = {}
    real = socket.getaddrinfo

    def look_up(host, port, *arguments, **options):
        if host not in table:
            return real(host, port, *arguments, **options)
        if options.get("flags"):
            raise socket.gaierror(socket.EAI_NONAME, "not an address")
        answer = table[host]
        return answer() if callable(answer) else [entry for a, p in answer for entry in real(a, p, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return table


@both_drivers
def test_refused(run, refused):
    with pytest.raises(ConnectError, match=rf"127\.0\.0\.1:{refused}: connect: Connection refused"):
        run(lambda net: net.connect("127.0.0.1", refused, None, net.now() + SOON))


@both_drivers
def test_no_such_name(run):
    with pytest.raises(ConnectError, match=r"no-such-host\.invalid:9092: resolve: "):
        run(lambda net: net.connect("no-such-host.invalid", 9092, None, net.now() + SOON))


@both_drivers
@pytest.mark.parametrize("host", ["", "a..b", "x" * 300, "bad host"])
def test_names_that_cannot_be(run, host):
    with pytest.raises(ConnectError):
        run(lambda net: net.connect(host, 1, None, net.now() + SOON))


@both_drivers
@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_ports_that_cannot_be(run, port):
    with pytest.raises(ConnectError, match="no such port"):
        run(lambda net: net.connect("127.0.0.1", port, None, net.now() + SOON))


@both_drivers
def test_no_answer_until_the_deadline(run, black_hole):
    with pytest.raises(ConnectError, match=rf"127\.0\.0\.1:{black_hole}: connect: no answer in \d\.\d s"):
        run(lambda net: net.connect("127.0.0.1", black_hole, None, net.now() + 0.5))


@both_drivers
def test_a_resolver_that_hangs(run, addresses):
    released = threading.Event()
    addresses["slow.test"] = lambda: released.wait(SOON) and []
    try:
        with pytest.raises(ConnectError, match="resolve: no answer for the name slow"):
            run(lambda net: net.connect("slow.test", 9092, None, net.now() + 0.05))
    finally:
        released.set()


@both_drivers
def test_every_address_is_tried_in_turn(run, refused, black_hole, addresses):
    async def flow(net):
        link = await net.connect("many.test", 9092, None, net.now() + 3)
        return payload(await call(net, link, echo(1), net.now() + SOON))

    with Server() as server:
        addresses["many.test"] = [("127.0.0.1", refused), ("127.0.0.1", black_hole), ("127.0.0.1", server.port)]
        assert run(flow) == b"1"


@both_drivers
def test_the_error_names_every_address_and_its_reason(run, refused, black_hole, addresses):
    addresses["many.test"] = [("127.0.0.1", refused), ("127.0.0.1", black_hole)]
    with pytest.raises(ConnectError) as caught:
        run(lambda net: net.connect("many.test", 9092, None, net.now() + 1))
    text = str(caught.value)
    assert text.startswith("cannot connect to many.test:9092: ")
    assert f"127.0.0.1:{refused}: connect: Connection refused" in text
    assert f"127.0.0.1:{black_hole}: connect: no answer in" in text


def test_an_ipv6_address_reads_as_in_a_url():
    assert str(connecting.ResolvedAddress(socket.AF_INET6, socket.SOCK_STREAM, 6, ("::1", 9092, 0, 0))) == "[::1]:9092"


@both_drivers
def test_options_of_the_socket(run, monkeypatch):
    made = []
    real = connecting.open_socket

    def open_socket(address):
        made.append(real(address))
        return made[-1]

    monkeypatch.setattr("kafkawire.net.blocking.net.open_socket", open_socket)
    monkeypatch.setattr("kafkawire.net.aio.net.open_socket", open_socket)

    async def flow(net):
        await connect(net, server)
        [sock] = made
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.gettimeout() == 0
        assert not sock.get_inheritable()

    with Server() as server:
        run(flow)
    assert made[0].fileno() == -1


def test_a_cancelled_connect_closes_its_socket(black_hole):
    """That nothing is left open is seen by the ResourceWarning that there would be."""
    from kafkawire.net import aio

    async def main():
        net = aio.Net()
        task = asyncio.ensure_future(net.connect("127.0.0.1", black_hole, None, net.now() + SOON))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await net.close()

    asyncio.run(main())

"""Links in memory, and what befalls them: by chance at every piece that they carry, or by decree for a host and a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kafkawire.errors import ConnectionLost, KafkaError
from kafkawire.protocol.frames import ClientPeer
from tests.sim.flows import Pending

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestFrame
    from tests.sim.driver import SimNet

__all__ = ["BOTH_WAYS", "TO_CLIENT", "TO_SERVER", "Faults", "Hosts", "Link", "SimConnection", "SimServer"]

TO_SERVER = "to server"
TO_CLIENT = "to client"
BOTH_WAYS = (TO_SERVER, TO_CLIENT)


class SimConnection(Protocol):
    """The server's end of one connection."""

    def received(self, data: bytes) -> None:
        """Bytes from the client, in order, in pieces of any size."""

    def closed(self) -> None:
        """The client closed, or the link was cut. Sending is pointless from now on, but harmless."""


class SimServer(Protocol):
    """Brokers of a simulated cluster."""

    def accept(self, host: str, port: int, send: Callable[[bytes], None], close: Callable[[], None]) -> SimConnection | None:
        """A client connects; None refuses. `send` and `close` may be called at any time, also from within."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Effects of links on bytes. `delay` is the mean in seconds; unless stated, other values are probabilities."""

    delay: float = 0.01
    split: float = 0.3
    """of a write to arrive in pieces"""
    late: float = 0.0
    """of a piece to be held up, and with it what comes behind it"""
    lateness: float = 1.0
    """the mean of that, in seconds"""
    cut: float = 0.0
    """of the link to break at a piece, which is lost"""
    silence: float = 0.0
    """of the link to carry nothing any more from a piece on, without breaking"""
    refuse: float = 0.0
    """of a connect to be refused"""


class Hosts:
    """Faults of the path to each host, for every connection on it."""

    def __init__(self) -> None:
        self._dark: dict[tuple[str, str], float] = {}
        self._down: set[str] = set()

    def darken(self, host: str, until: float, ways: Sequence[str] = BOTH_WAYS) -> None:
        """Let nothing through until a time, not even the end of a connection; what was sent arrives then. New ones hang."""
        for way in ways:
            self._dark[host, way] = until

    def dark_until(self, host: str, *ways: str) -> float:
        """When everything gets through again."""
        return max(self._dark.get((host, way), 0.0) for way in ways)

    def take_down(self, host: str) -> None:
        """Refuse all connects, as a machine does whose broker has died. The cluster need not have noticed."""
        self._down.add(host)

    def bring_up(self, host: str) -> None:
        self._down.discard(host)

    def is_down(self, host: str) -> bool:
        return host in self._down

    def heal(self) -> None:
        """Nothing is wrong any more."""
        self._dark.clear()
        self._down.clear()


class Link:
    """See `net.base.Link`; one in-memory connection."""

    def __init__(self, net: SimNet, number: int, host: str) -> None:
        self.error: Exception | None = None
        self.host = host
        self._net = net
        self._number = number
        self._peer = ClientPeer()
        self._server: SimConnection | None = None
        self._broken = False
        """Nothing new gets through, in neither direction."""
        self._arrival = {TO_SERVER: 0.0, TO_CLIENT: 0.0}
        """When the last piece sent so far arrives: later ones come after it."""

    # ---- the client's end

    def send(self, frame: RequestFrame, signal: Any) -> Pending:
        pending = Pending(signal)
        if self.error is not None:
            pending.complete(None, self.error)
        else:
            parts = self._peer.request(frame, None if signal is None else pending)
            self._carry(TO_SERVER, b"".join(parts), self._to_server)
        return pending

    def fail(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
            self._schedule(TO_SERVER, self._tell_server)
        for pending in self._peer.outstanding():
            pending.complete(None, self.error)

    def backlog(self) -> int:
        return 0

    def close(self) -> None:
        self.fail(ConnectionLost("closed"))

    # ---- the server's end

    def open(self, server: SimServer, port: int) -> bool:
        """Introduce the two ends to each other; False if the server refuses."""
        self._server = server.accept(self.host, port, self._from_server, self._server_closes)
        return self._server is not None

    def _from_server(self, data: bytes) -> None:
        self._carry(TO_CLIENT, bytes(data), self._to_client)

    def _server_closes(self) -> None:
        self._schedule(TO_CLIENT, lambda: self.fail(ConnectionLost("the broker closed the connection")))

    # ---- between

    def cut(self) -> None:
        """Break: both ends hear of it, and nothing new gets through."""
        self._broken = True
        self._schedule(TO_CLIENT, lambda: self.fail(ConnectionLost("cut")))
        self._schedule(TO_SERVER, self._tell_server)

    def _carry(self, way: str, data: bytes, deliver: Callable[[bytes], None]) -> None:
        """Pieces of the data, each after a delay, in order, until chance breaks the link."""
        chance, faults = self._net.rng, self._net.faults
        while data and not self._broken:
            size = chance.randint(1, len(data)) if chance.random() < faults.split else len(data)
            if chance.random() < faults.cut:
                self.cut()
            elif chance.random() < faults.silence:
                self._broken = True
            else:
                self._schedule(way, deliver, data[:size])
                data = data[size:]

    def _schedule(self, way: str, call: Callable[..., None], *arguments: Any) -> None:
        net = self._net
        start = max(net.now(), net.hosts.dark_until(self.host, way))
        when = self._arrival[way] = max(self._arrival[way], start + net.some_delay())

        def arrive() -> None:
            net.trace(f"link {self._number} {way} {len(arguments[0]) if arguments else 'end'}")
            call(*arguments)

        net.at(when, arrive, may_hurry=True)

    def _to_server(self, data: bytes) -> None:
        if self._server is not None:
            self._server.received(data)

    def _tell_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.closed()

    def _to_client(self, data: bytes) -> None:
        while data and self.error is None:
            buffer = self._peer.get_buffer()
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            data = data[size:]
            try:
                replies = self._peer.received(size)
            except KafkaError as error:
                self.fail(error)
                return
            for pending, frame in replies:
                pending.complete(frame, None)

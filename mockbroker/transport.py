"""One TCP connection of the mock broker: moves bytes between its socket and a `ServerConnection`."""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable
from itertools import islice
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, Protocol

from mockbroker.connection import ServerConnection

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer
    from mockbroker.cluster import Broker, Cluster
    from mockbroker.tls import TlsStream

__all__ = ["IoLoop", "Transport"]

_log = logging.getLogger("mockbroker")

_READ_SIZE = 1 << 18
_PARTS_AT_ONCE = 64


class IoLoop(Protocol):
    """What a transport needs of the thread that runs it."""

    def watch(self, sock: socket.socket, events: int, on_event: Callable[[int], None]) -> None:
        """Call `on_event` on these events from now on; 0 for none."""

    def go_on_soon(self, transport: Transport) -> None:
        """Call its `go_on` in this turn of the loop."""

    def now(self) -> float:
        """The time on the cluster's clock."""


class Transport:
    """One client. on_close is called once, whoever closes."""

    __slots__ = ("_closed", "_connection", "_events", "_loop", "_on_close", "_socket", "_tls", "_unsent")

    def __init__(
        self,
        loop: IoLoop,
        sock: socket.socket,
        cluster: Cluster,
        broker: Broker,
        number: int,
        tls: TlsStream | None,
        on_close: Callable[[Transport], None],
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._connection = ServerConnection(cluster, broker, number, lambda: loop.go_on_soon(self), _address(sock))
        self._tls = tls
        self._on_close = on_close
        self._unsent: deque[Buffer] = deque()
        self._events = 0
        self._closed = False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wait_anew()

    def go_on(self) -> None:
        """Something that the connection waited for has happened."""
        self._serve(self._write)

    def close(self) -> None:
        """Cut the connection."""
        if not self._closed:
            self._closed = True
            self._connection.lost()
            self._loop.watch(self._socket, 0, self._on_event)
            self._socket.close()
            self._on_close(self)

    def _on_event(self, mask: int) -> None:
        self._serve(self._receive if mask & EVENT_READ else self._write)

    def _serve(self, step: Callable[[], None]) -> None:
        """Take a step, write what came of it and wait anew. Whatever goes wrong costs this connection only."""
        if self._closed:
            return
        try:
            step()
            if not self._closed:
                self._write()
                self._wait_anew()
        except OSError:
            self.close()
        except Exception:  # noqa: BLE001 - our own mistake; it is logged
            _log.exception("a mock broker failed at a request and closes the connection")
            self.close()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        if self._tls is not None:
            data = self._tls.received(data)
            self._unsent.extend(filter(None, [self._tls.outgoing()]))
        if data and not self._connection.closing:
            self._connection.received(data, self._loop.now())
        if self._tls is not None and self._tls.ended:
            self._connection.closing = True

    def _write(self) -> None:
        """Write while there is something and the client takes it; what is written makes room for the next answers."""
        while self._flush():
            self._connection.run(self._loop.now())
            parts = self._connection.take_output()
            if not parts:
                if self._connection.closing:
                    self.close()
                return
            if self._tls is not None:
                self._tls.send(parts)
                parts = [self._tls.outgoing()]
            self._unsent.extend(parts)

    def _flush(self) -> bool:
        """Write what the client takes; whether that was all."""
        unsent = self._unsent
        while unsent:
            try:
                sent = self._socket.sendmsg(islice(unsent, _PARTS_AT_ONCE))
            except BlockingIOError:
                return False
            while unsent and len(unsent[0]) <= sent:
                sent -= len(unsent.popleft())
            if sent:
                unsent[0] = memoryview(unsent[0])[sent:]
        return True

    def _wait_anew(self) -> None:
        """Tell the loop what to wait for now."""
        if self._closed:
            return
        connection = self._connection
        events = EVENT_READ if connection.wants_input or connection.closing else 0
        if self._unsent:
            events |= EVENT_WRITE
        if events != self._events:
            self._events = events
            self._loop.watch(self._socket, events, self._on_event)


def _address(sock: socket.socket) -> str:
    """Where the client is."""
    try:
        return str(sock.getpeername()[0])
    except OSError:  # gone already
        return ""

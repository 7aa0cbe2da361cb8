"""One TCP connection of the mock broker: moves bytes between its socket and a `ServerConnection`."""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable
from itertools import islice
from selectors import EVENT_READ, EVENT_WRITE
from time import perf_counter
from typing import TYPE_CHECKING

from mockbroker.broker.connection import ServerConnection

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.services import ClusterServices
    from mockbroker.drive.loop import IoLoop
    from mockbroker.drive.tls import TlsStream
    from mockbroker.state.brokers import Broker

__all__ = ["Transport"]

_log = logging.getLogger("mockbroker")

_READ_SIZE = 1 << 16
"""Bytes read at once. A much larger buffer is mapped anew for each read, which takes several times as long as the read."""
_PARTS_AT_ONCE = 64
"""Buffers given to one system call."""

_TURN = 0.005
"""Seconds of serving after which the loop serves other connections."""


class Transport:
    """Socket of one client.

    loop: serves the connection in its thread. services, broker: of the cluster. number: of the connection. on_close: called
    once, with the transport, when either side closes.
    """

    __slots__ = ("_closed", "_connection", "_events", "_loop", "_on_close", "_socket", "_tls", "_unsent")

    def __init__(
        self,
        loop: IoLoop,
        sock: socket.socket,
        services: ClusterServices,
        broker: Broker,
        number: int,
        tls: TlsStream | None,
        on_close: Callable[[Transport], None],
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._connection = ServerConnection(services, broker, number, lambda: loop.call_soon(self._resume), _address(sock))
        self._tls = tls
        self._on_close = on_close
        self._unsent: deque[Buffer] = deque()
        self._events = 0
        self._closed = False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._update_events()

    def close(self) -> None:
        """Close the connection at once."""
        if not self._closed:
            self._closed = True
            self._connection.lost()
            self._unsent.clear()
            self._loop.watch(self._socket, 0, self._on_event)
            self._socket.close()
            self._on_close(self)

    def _resume(self) -> None:
        """Serve again: something that the connection waited for has happened, or other connections have had their turn."""
        self._take_turn(readable=False)

    def _on_event(self, mask: int) -> None:
        self._take_turn(readable=bool(mask & EVENT_READ))

    def _take_turn(self, *, readable: bool) -> None:
        """Read, serve, write, and say which events come next. An error closes this connection only."""
        if self._closed:
            return
        try:
            if readable:
                self._receive()
            self._serve()
            self._update_events()
        except OSError:
            self.close()
        except Exception:  # noqa: BLE001 - a defect of the mock; it is logged
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
            self._connection.received(data)
        if self._tls is not None and self._tls.ended:
            self._connection.closing = True

    def _serve(self) -> None:
        """Serve and write until nothing is left to do, the client takes no more bytes, or the turn is over."""
        connection, end = self._connection, perf_counter() + _TURN
        while not self._closed and self._flush():
            if perf_counter() >= end:
                self._loop.call_soon(self._resume)
                return
            now = self._loop.now()
            while connection.serve(now) and perf_counter() < end:
                pass
            parts = connection.take_output()
            if parts and self._tls is not None:
                self._tls.send(parts)
                parts = [self._tls.outgoing()]
            self._unsent.extend(parts)
            if not parts and connection.closing:
                self.close()
            elif not parts and perf_counter() < end:
                return

    def _flush(self) -> bool:
        """Write as much as the client takes; True if nothing is left."""
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

    def _update_events(self) -> None:
        """Tell the loop which events the connection waits for."""
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
    """Return the client's IP address."""
    try:
        return str(sock.getpeername()[0])
    except OSError:  # the client has gone already
        return ""

"""Brokers of a cluster on TCP: a listener for each broker, a transport for each connection."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from mockbroker.drive.addresses import listening_on
from mockbroker.drive.tls import TlsStream
from mockbroker.drive.transport import Transport

if TYPE_CHECKING:
    import ssl

    from mockbroker.broker.services import ClusterServices
    from mockbroker.drive.loop import IoLoop
    from mockbroker.state.brokers import Broker

__all__ = ["Server"]

_BACKLOG = 1024
"""Connections that wait to be accepted."""


class Server:
    """Listeners and connections of a cluster's brokers, served by an event loop.

    services: of the cluster. loop: runs the cluster; methods that say "in the loop's thread only" are for its `call`. host,
    port: where the first broker listens, 0 for any port; each other takes the port `port_step` behind the one before it. tls:
    for all listeners. advertised_host: the host that brokers tell clients to connect to, if that is not `host`.
    """

    def __init__(
        self,
        services: ClusterServices,
        loop: IoLoop,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        advertised_host: str | None = None,
        port_step: int = 1,
    ) -> None:
        self._services = services
        self._cluster = services.cluster
        self._loop = loop
        self.host = host
        self.ports: dict[int, int] = {}
        """Port of each broker, kept after `stop`."""
        self._port = port
        self._port_step = port_step
        self._tls = tls
        self._advertised_host = advertised_host or host
        self._listeners: dict[int, _Listener] = {}
        self._connection_numbers = count(1)

    def start(self) -> None:
        """Listen with every broker and start the loop. Raises OSError if a port is taken, ValueError for an invalid port."""
        self._loop.open()
        try:
            for broker in self._cluster.brokers.values():
                self._listen(broker)
        except (OSError, ValueError):
            self._release_listeners()
            self._loop.close()
            raise
        self._loop.start()

    def stop(self) -> None:
        """Close every socket and end the loop. The cluster stays readable. Idempotent."""
        self._loop.stop(self._release_listeners)

    def add_broker(self, broker: Broker) -> None:
        """Let a new broker listen. In the loop's thread only. Raises OSError if its port is taken."""
        if self._loop.running:
            self._listen(broker)

    def remove_broker(self, broker_id: int) -> None:
        """Cut the connections of a broker and give its port up. In the loop's thread only."""
        if self._loop.running:
            self._listeners.pop(broker_id).release()

    def open_broker(self, broker_id: int) -> None:
        """Let a broker listen again, on its port. In the loop's thread only."""
        self._listeners[broker_id].open()

    def close_broker(self, broker_id: int) -> None:
        """Cut the connections of a broker and refuse new ones. In the loop's thread only."""
        self._listeners[broker_id].close()

    def _accepted(self, broker: Broker, sock: socket.socket, on_close: Callable[[Transport], None]) -> Transport:
        """Serve a new connection."""
        tls = None if self._tls is None else TlsStream(self._tls)
        return Transport(self._loop, sock, self._services, broker, next(self._connection_numbers), tls, on_close)

    def _listen(self, broker: Broker) -> None:
        place = broker.id - self._cluster.brokers.first_id
        port = self._port and self._port + place * self._port_step
        listener = _Listener(self._loop, self.host, port, partial(self._accepted, broker))
        self._listeners[broker.id] = listener
        self.ports[broker.id] = listener.port
        broker.host, broker.port = self._advertised_host, listener.port
        if broker.online:
            listener.open()

    def _release_listeners(self) -> None:
        for listener in self._listeners.values():
            listener.release()
        self._listeners.clear()


class _Listener:
    """Port of one broker. It stays bound while the broker is stopped: connections are refused, and nobody else gets the port.

    serve: serves a connection that was accepted, and calls its second argument when the connection is closed.
    """

    def __init__(
        self, loop: IoLoop, host: str, port: int, serve: Callable[[socket.socket, Callable[[Transport], None]], Transport]
    ) -> None:
        self._loop = loop
        self._serve = serve
        self._socket = _bind(host, port)
        self._host = host
        self.port: int = self._socket.getsockname()[1]
        self._transports: set[Transport] = set()
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def open(self) -> None:
        """Accept connections."""
        self._socket.listen(_BACKLOG)
        self._loop.watch(self._socket, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Cut all connections and refuse new ones."""
        self._cut()
        self._socket = _bind(self._host, self.port)

    def release(self) -> None:
        """Cut all connections and give the port up."""
        self._cut()
        os.close(self._spare)

    def _cut(self) -> None:
        self._loop.watch(self._socket, 0, self._accept)
        self._socket.close()
        for transport in list(self._transports):
            transport.close()

    def _accept(self, _mask: int) -> None:
        try:
            sock, _ = self._socket.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._turn_away()
            return
        self._transports.add(self._serve(sock, self._transports.discard))

    def _turn_away(self) -> None:
        """Accept with the spare file descriptor and close: otherwise the selector would report the connection for ever."""
        os.close(self._spare)
        with contextlib.suppress(OSError):
            self._socket.accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY)


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound, but does not listen yet."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with listening_on(host, port):
            sock.bind((host, port))
    except (OSError, ValueError):
        sock.close()
        raise
    sock.setblocking(False)
    return sock

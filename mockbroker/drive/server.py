"""The brokers of a cluster on TCP: one thread with one selector for all listeners, connections and timers."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker.drive.addresses import listening_on
from mockbroker.drive.tls import TlsStream
from mockbroker.drive.transport import Transport
from mockbroker.state.timers import NEVER

if TYPE_CHECKING:
    import ssl

    from mockbroker.broker.services import ClusterServices
    from mockbroker.drive.clock import MockClock
    from mockbroker.state.brokers import Broker

__all__ = ["Server"]

T = TypeVar("T")

_BACKLOG = 1024
_LONGEST_SLEEP = 3600.0
"""Seconds. Selectors take no more than some weeks, timers may be further away."""


class Server:
    """Serves a cluster from its own thread, which alone touches the cluster: everything else goes through `call`.

    host, port: where the first broker listens, 0 for any port; each other takes the port `port_step` behind the one before it.
    tls: for all listeners.
    advertised_host: what brokers tell clients to connect to, if that is not `host`.
    """

    def __init__(
        self,
        services: ClusterServices,
        clock: MockClock,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        advertised_host: str | None = None,
        port_step: int = 1,
    ) -> None:
        self._services = services
        self._cluster = services.cluster
        self._clock = clock
        self.now = clock.now
        clock.drive(self)
        self.host = host
        self.ports: dict[int, int] = {}
        """Where each broker listens, or did so last."""
        self._port = port
        self._port_step = port_step
        self._tls = tls
        self._advertised_host = advertised_host or host
        self._listeners: dict[int, _Listener] = {}
        self._connection_numbers = count(1)
        self._ready: deque[Transport] = deque()
        self._commands: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._running = False
        """Becomes False under the lock only: a command that found it True within is carried out."""

    def start(self) -> None:
        """Listen with every broker and start the thread. Raises OSError if a port is taken, ValueError if it is none."""
        self._selector = selectors.DefaultSelector()
        self._wake_end, self._woken_end = socket.socketpair()
        self._wake_end.setblocking(False)
        self._woken_end.setblocking(False)
        self._selector.register(self._woken_end, selectors.EVENT_READ, self._drain_wakes)
        try:
            for broker in self._cluster.brokers.values():
                self._listen(broker)
        except (OSError, ValueError):
            self._finish()
            raise
        self._running = True
        self._thread = threading.Thread(target=self._run, name="mockbroker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close every socket and end the thread. The cluster stays readable."""
        if self._thread is not None:
            self.call(self._finish)
            self._thread.join()
            self._thread = None

    def call(self, action: Callable[[], T]) -> T:
        """Run an action where nothing else touches the cluster: in the thread, or right here while it does not run."""
        if threading.current_thread() is self._thread:
            return action()
        done: Future[T] = Future()
        with self._lock:
            if not self._running:
                return action()
            self._commands.append((action, done))
            with contextlib.suppress(BlockingIOError):  # full of wake-ups: the thread will come round
                self._wake_end.send(b"\0")
        return done.result()

    def add_broker(self, broker: Broker) -> None:
        """Let a new broker listen. Within `call` only. Raises OSError if its port is taken."""
        if self._running:
            self._listen(broker)

    def remove_broker(self, broker_id: int) -> None:
        """Cut the connections of a broker and give its port up. Within `call` only."""
        if self._running:
            self._listeners.pop(broker_id).release()

    def open_broker(self, broker_id: int) -> None:
        """Let a broker listen again, on its port. Within `call` only."""
        self._listeners[broker_id].open()

    def close_broker(self, broker_id: int) -> None:
        """Refuse connections to a broker, and cut those that it has. Within `call` only."""
        self._listeners[broker_id].close()

    def watch(self, sock: socket.socket, events: int, on_event: Callable[[int], None]) -> None:
        """Call `on_event` on these events from now on; 0 for none."""
        watched = sock in self._selector.get_map()
        if events and watched:
            self._selector.modify(sock, events, on_event)
        elif events:
            self._selector.register(sock, events, on_event)
        elif watched:
            self._selector.unregister(sock)

    def go_on_soon(self, transport: Transport) -> None:
        """Call its `go_on`, after what else there is to do."""
        self._ready.append(transport)

    def accepted(self, broker: Broker, sock: socket.socket, on_close: Callable[[Transport], None]) -> Transport:
        """Serve a new connection."""
        tls = None if self._tls is None else TlsStream(self._tls)
        return Transport(self, sock, self._services, broker, next(self._connection_numbers), tls, on_close)

    def _listen(self, broker: Broker) -> None:
        place = broker.id - self._cluster.brokers.first_id
        listener = _Listener(self, broker, self.host, self._port and self._port + place * self._port_step)
        self._listeners[broker.id] = listener
        self.ports[broker.id] = listener.port
        broker.host, broker.port = self._advertised_host, listener.port
        if broker.online:
            listener.open()

    def _run(self) -> None:
        while self._running:
            self._poll()
            while self._commands:
                _execute(*self._commands.popleft())
            self._turn()
        with self._lock:
            while self._commands:
                _execute(*self._commands.popleft())

    def _poll(self) -> None:
        """Wait for events and handle them. No variable outlives it that would keep a connection which one of them has ended."""
        for key, mask in self._selector.select(self._patience()):
            key.data(mask)

    def _patience(self) -> float | None:
        """Seconds to sleep until there is something to do by itself; None while time stands still, or there is nothing."""
        deadline, now = self._cluster.timers.next_deadline, self.now()
        if self._ready or deadline <= now:
            return 0
        return None if self._clock.held or deadline == NEVER else min(deadline - now, _LONGEST_SLEEP)

    def settle(self) -> None:
        """Do all that is due now. In the thread only."""
        now = self.now()
        while self._ready or self._cluster.timers.next_deadline <= now:  # a request may set a timer that is due at once
            self._turn()

    def _turn(self) -> None:
        """Run the timers that are due, and let each of the connections go on that are ready now."""
        self._cluster.timers.run(self.now())
        for _ in range(len(self._ready)):
            self._ready.popleft().go_on()

    def _drain_wakes(self, _mask: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken_end.recv(4096):
                pass

    def _finish(self) -> None:
        with self._lock:
            self._running = False
        for listener in self._listeners.values():
            listener.release()
        self._listeners.clear()
        self._selector.close()
        self._wake_end.close()
        self._woken_end.close()


def _execute(action: Callable[[], Any], done: Future[Any]) -> None:
    try:
        done.set_result(action())
    except BaseException as error:  # noqa: BLE001 - whoever called has to hear of it
        done.set_exception(error)


class _Listener:
    """The port of one broker. It stays bound while the broker is stopped: connections are refused, and nobody else gets it."""

    def __init__(self, server: Server, broker: Broker, host: str, port: int) -> None:
        self._server = server
        self._broker = broker
        self._socket = _bind(host, port)
        self._host = host
        self.port: int = self._socket.getsockname()[1]
        self._transports: set[Transport] = set()
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def open(self) -> None:
        """Accept connections."""
        self._socket.listen(_BACKLOG)
        self._server.watch(self._socket, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Refuse connections and cut those that there are."""
        self._cut()
        self._socket = _bind(self._host, self.port)

    def release(self) -> None:
        """Close, and give the port up."""
        self._cut()
        os.close(self._spare)

    def _cut(self) -> None:
        self._server.watch(self._socket, 0, self._accept)
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
        self._transports.add(self._server.accepted(self._broker, sock, self._transports.discard))

    def _turn_away(self) -> None:
        """Out of file descriptors: accept on a spare one and close, or the selector would report the connection for ever."""
        os.close(self._spare)
        with contextlib.suppress(OSError):
            self._socket.accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY)


def _bind(host: str, port: int) -> socket.socket:
    """A socket on its port that does not listen yet."""
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

"""A gate before a broker: a TCP proxy that tests open, close and fall silent behind."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

from mockbroker import MockBroker, MockCluster


class Gate:
    """Stands before one broker, which advertises the gate's address; everything passes until it is closed or silenced."""

    def __init__(self, broker: MockBroker) -> None:
        self.connections = 0
        """Number of connections accepted so far."""
        self._target = (broker.host, broker.port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.host, self.port = self._listener.getsockname()
        self._silent = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._start(self._accept, self._listener)
        broker.advertise(self.host, self.port)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def close(self) -> None:
        """Cut all connections and refuse new ones."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def open(self) -> None:
        """Listen again, on the port of before."""
        self._listener = socket.create_server((self.host, self.port), backlog=128)
        self._start(self._accept, self._listener)

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def silence(self) -> None:
        """Go on accepting, and pass nothing on, nor ever again on connections that were open in the meantime."""
        self._silent = True

    def speak(self) -> None:
        """Pass on what comes over new connections."""
        self._silent = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.close()
        for thread in self._threads:
            thread.join()

    def _start(self, target, *arguments) -> None:
        thread = threading.Thread(target=target, args=arguments, name="test-gate", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            broker = socket.create_connection(self._target)
            with self._lock:
                self._open |= {client, broker}
            self.connections += 1
            mute = threading.Event()
            self._start(self._pump, client, broker, mute)
            self._start(self._pump, broker, client, mute)

    def _pump(self, source: socket.socket, sink: socket.socket, mute: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._silent:
                    mute.set()
                if not mute.is_set():
                    sink.sendall(data)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
        source.close()


@contextlib.contextmanager
def gates(kafka: MockCluster):
    """A gate before every broker, by its id."""
    with contextlib.ExitStack() as stack:
        yield {number: stack.enter_context(Gate(broker)) for number, broker in kafka.brokers.items()}

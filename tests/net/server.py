"""A small broker in threads: it answers what its request's API key tells it to, over TCP or TLS, and leaves nothing open."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING, Self

from kafkawire.protocol.frames import MAX_FRAME_SIZE, RequestFrame

if TYPE_CHECKING:
    import ssl

ECHO, SILENT, BIG, CUT, SLOWLY, HANG_UP, STALL = range(7)
"""Answer with the payload; not at all; with as many bytes as the payload says; with half a frame, then close; byte by byte;
close; and read nothing more."""


def frame(key: int, payload: bytes = b"") -> RequestFrame:
    return RequestFrame(key, 0, [payload], len(payload))


def echo(number: int) -> RequestFrame:
    return frame(ECHO, b"%d" % number)


def big(size: int) -> RequestFrame:
    return frame(BIG, struct.pack(">i", size))


def payload(response: bytearray) -> bytes:
    return bytes(response[4:])


class Server:
    """Listens on a free port of 127.0.0.1 until the `with` ends. `greeting` is said at once, by servers that are no brokers."""

    def __init__(self, context: ssl.SSLContext | None = None, greeting: bytes = b"") -> None:
        self.connections = 0
        self.requests = 0
        self._context = context
        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.host, self.port = self._listener.getsockname()
        self._over = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, target, *arguments) -> None:
        thread = threading.Thread(target=target, args=arguments, name="test-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(sock)
            if self._over.is_set():
                sock.shutdown(socket.SHUT_RDWR)
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self._open.discard, sock)
            stack.enter_context(sock)
            stack.enter_context(contextlib.suppress(OSError))  # the client is gone, or no TLS client
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = sock
            if self._context is not None:
                connection = stack.enter_context(self._context.wrap_socket(sock, server_side=True))
                self._open.add(connection)
                stack.callback(self._open.discard, connection)
            connection.sendall(self._greeting)
            with connection.makefile("rb") as stream:
                while self._answer(connection, stream):
                    pass

    def _answer(self, connection: socket.socket, stream) -> bool:
        head = stream.read(12)
        if len(head) < 12:
            return False
        size, key, _, correlation_id = struct.unpack(">ihhi", head)
        if not 8 <= size <= MAX_FRAME_SIZE:
            return False  # as brokers do with what is no frame
        body = stream.read(size - 8)
        self.requests += 1
        if key == HANG_UP:
            return False
        if key == STALL:
            self._over.wait()
        if key in (SILENT, STALL):
            return True
        if key == BIG:
            body = bytes(range(256)) * (struct.unpack(">i", body)[0] // 256)
        response = struct.pack(">ii", 4 + len(body), correlation_id) + body
        if key == CUT:
            connection.sendall(response[: len(response) // 2])
            return False
        if key == SLOWLY:
            for i in range(len(response)):
                connection.sendall(response[i : i + 1])
        else:
            connection.sendall(response)
        return True

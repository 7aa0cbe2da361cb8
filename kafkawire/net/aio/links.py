"""Links of the asyncio driver: one asyncio protocol each."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast

from kafkawire.errors import ConnectionLost, ForkedError, KafkaError
from kafkawire.net.aio.loop import LoopThread, resolve
from kafkawire.net.aio.signals import Pending
from kafkawire.net.connect import reason_of
from kafkawire.protocol.frames import ClientPeer

if TYPE_CHECKING:
    import socket

    from kafkawire.protocol.frames import RequestFrame

__all__ = ["Link"]


class Link(asyncio.BufferedProtocol):
    """One connection; see `net.base.Link`. Its state changes on the loop's thread only.

    `links` is the set of the links whose socket is open: a link enters and leaves it by itself.
    """

    def __init__(self, thread: LoopThread, links: set[Link], sock: socket.socket, *, secured: bool) -> None:
        self.error: Exception | None = None
        self.gone = thread.loop.create_future()
        """Done when asyncio has let go of the socket."""
        self._thread = thread
        self._links = links
        self._sock = sock
        self._secured = secured
        self._heard = False
        self._peer = ClientPeer()
        self._transport: asyncio.Transport | None = None

    # ---- any thread

    def send(self, frame: RequestFrame, signal: Any) -> Pending:
        """Send a request; see `net.base.Link.send`. Raises ForkedError in a child process."""
        pending = Pending(signal)
        if isinstance(self.error, ForkedError):
            raise self.error
        self._thread.call(self._send, frame, pending)
        return pending

    def fail(self, error: Exception) -> None:
        """Take the link down; see `net.base.Link.fail`."""
        self._thread.call(self._fail, error)

    def backlog(self) -> int:
        """Bytes that wait for the socket; see `net.base.Link.backlog`."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def close(self) -> None:
        """Take the link down."""
        self.fail(ConnectionLost("closed"))

    # ---- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport to write to."""
        self._transport = cast("asyncio.Transport", transport)
        self._links.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """A buffer to receive into."""
        return self._peer.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Parse the bytes received and complete their pendings."""
        self._heard = True
        try:
            replies = self._peer.received(nbytes)
        except (KafkaError, MemoryError) as error:
            self._fail(error)
            return
        for pending, frame in replies:
            pending.complete(frame, None)

    def eof_received(self) -> None:
        """Take the link down: the broker will send no more."""
        self._fail(ConnectionLost("the broker closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Complete what is left: the socket is closed."""
        self._fail(self._explain(exc))
        self._links.discard(self)
        self._peer.end()
        resolve(self.gone)

    # ---- on the loop's thread

    def _send(self, frame: RequestFrame, pending: Pending) -> None:
        if self.error is not None or self._transport is None:
            pending.complete(None, self.error)
            return
        parts = self._peer.request(frame, None if pending.signal is None else pending)
        # Since Python 3.12 writelines has two defects: after a failed write it watches a descriptor that may be the next
        # connection's by then (CPython gh-136234, up to 3.13.5), and it writes an empty part for ever (gh-155888).
        if not self._transport.is_closing():
            self._transport.writelines([part for part in parts if part])

    def _fail(self, error: Exception) -> None:
        if self.error is not None:
            return
        self.error = error
        if self._transport is not None:
            self._transport.abort()
        for pending in self._peer.outstanding():
            pending.complete(None, error)

    def _explain(self, error: Exception | None) -> Exception:
        if error is None:
            return ConnectionLost("the broker closed the connection")
        if self._secured and isinstance(error, OSError):
            from kafkawire.net.tls import rejected

            verdict = rejected(error)
            if verdict is not None:
                return verdict
            if not self._heard:
                # In TLS 1.3 the broker checks the client's certificate after the handshake, and asyncio reports a failed write
                # before it reads the broker's alert.
                hint = "check ssl_certfile and ssl_keyfile"
                return ConnectionLost(f"connection lost right after the TLS handshake: {reason_of(error)}; {hint}")
        return ConnectionLost(f"connection lost: {reason_of(error)}")

    def abandon(self, error: Exception) -> None:
        """Close the socket without writing: it belongs to the parent process, or its loop runs no more."""
        self.error = error
        fd = self._sock.detach()
        if fd >= 0:
            os.close(fd)

"""Links of the blocking driver: one socket each, with what it is to write and what it has read.

Each step on state that threads share can be run again after an interrupt.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kafkawire.errors import ConnectionLost, ForkedError, KafkaError
from kafkawire.net.blocking.signals import Pending, SignalOwner
from kafkawire.net.connect import AttemptFailed, ResolvedAddress, reason_of, refuse_self_connect
from kafkawire.net.mutex import Exclusive
from kafkawire.protocol.frames import ClientPeer

if TYPE_CHECKING:
    from kafkawire.net.tls import TlsStream
    from kafkawire.protocol.frames import RequestFrame

__all__ = ["Link"]

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

_MOST_PARTS = 64
"""Buffers given to one sendmsg; the kernel refuses more than 1024."""

_TLS_CHUNK = 65536
"""Bytes of ciphertext read at once: four of TLS's largest records."""

_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


class LinkOwner(SignalOwner, Protocol):
    """The poller, as its links know it."""

    def expect(self, signal: Any) -> None:
        """Count one more reply to come for this signal, so that its owner may lead."""

    def attend(self, link: Any) -> None:
        """Have the leader look at a link whose state has changed."""


class _Outbox:
    """Bytes to be written, in order. A write stores how much it took by the same call, so an interrupted drain can go on."""

    __slots__ = ("_taken", "parts")

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self._taken: list[int] = []

    def drain(self, sendmsg: Callable[[list[Any]], int]) -> None:
        """Write until nothing is left or the socket is full. Raises OSError."""
        if self._taken:
            self._drop_taken()
        while self.parts:
            try:
                self._taken.extend(map(sendmsg, (self.parts[:_MOST_PARTS],)))
            except BlockingIOError:
                return
            self._drop_taken()

    def _drop_taken(self) -> None:
        taken = self._taken[0]
        parts = self.parts
        whole = 0
        for part in parts:
            if taken < len(part):
                break
            taken -= len(part)
            whole += 1
        rest = parts[whole:]
        if taken:
            rest[0] = memoryview(rest[0])[taken:]
        self.parts = rest
        self._taken.clear()


class Link:
    """One connection; see `net.base.Link`. `opened` completes when it is up, with AttemptFailed where it cannot be had.

    The link's lock guards its socket's writes, its outbox, `error` and TLS. The leader alone reads, and closes the socket.
    """

    def __init__(self, net: LinkOwner, sock: socket.socket, host: str, opened: Pending, tls: TlsStream | None) -> None:
        self.error: Exception | None = None
        self.sock = sock
        self.stage = "connect"
        self.watched = 0
        """Events that the selector watches for; written by the leader."""
        self._net = net
        self._host = host
        self._opened = opened
        self._tls = tls
        self._lock = Exclusive()
        self._peer = ClientPeer()
        self._outbox = _Outbox()
        self._write_error: OSError | None = None
        self._told = False
        """True once every pending has been completed because the link is down."""
        self._arrived: list[int] = []
        """Size of what was received last, until it is parsed."""
        self._replies: list[tuple[Any, bytearray]] = []
        """Pendings and their frames, until they are completed."""

    # ---- any thread

    def send(self, frame: RequestFrame, signal: Any) -> Pending:
        """Send a request; see `net.base.Link.send`. Raises ForkedError in a child process."""
        pending = Pending(signal)
        if signal is not None:
            self._net.expect(signal)
        try:
            with self._lock:
                error = self.error
                if error is None:
                    self._write(self._peer.request(frame, None if signal is None else pending))
        except BaseException:
            if self._tls is not None:
                self.fail(self._interrupted())
            self._net.attend(self)
            raise
        if error is not None:
            if isinstance(error, ForkedError):
                raise error
            pending.complete(None, error)
        return pending

    def fail(self, error: Exception) -> None:
        """Take the link down; see `net.base.Link.fail`. After an interrupt the leader does, whose poll shows the shutdown."""
        if self._told:
            return
        with self._lock:
            if self.error is None:
                self.error = error
                try:  # noqa: SIM105 - suppress() is two calls more, where an interrupt would part error and shutdown
                    self.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # not connected (any more)
        self._complete_all()
        self._net.attend(self)

    def close(self) -> None:
        """Take the link down."""
        self.fail(ConnectionLost("closed"))

    def backlog(self) -> int:
        """Bytes that wait for the socket; see `net.base.Link.backlog`."""
        return sum(map(len, list(self._outbox.parts)))

    @property
    def unsent(self) -> bool:
        """True if bytes, or the error of the last write, wait for the leader."""
        return bool(self._outbox.parts) or self._write_error is not None

    def _write(self, parts: list[Any]) -> None:
        """Queue the parts and write what the socket takes; under the lock."""
        outbox = self._outbox
        behind = self.unsent
        try:
            outbox.parts.extend(parts if self._tls is None else [self._tls.seal(parts)])
            outbox.drain(self.sock.sendmsg)
        except OSError as error:
            self._write_error = error
        if not behind and self.unsent:
            self._net.attend(self)

    def _complete_all(self) -> None:
        """Complete every pending with the error, once: their signals wake flows, which must not be woken for nothing."""
        if not self._told:
            for pending in [self._opened, *self._peer.outstanding()]:
                pending.complete(None, self.error)
            self._told = True

    # ---- the leader

    def start(self, address: ResolvedAddress) -> None:
        """Begin to connect. Raises AttemptFailed if that fails at once."""
        code = self.sock.connect_ex(address.sockaddr)
        if code not in _UNDER_WAY:
            raise AttemptFailed("connect", os.strerror(code))

    def interest(self) -> int:
        """Events that the selector should watch for; 0 when the link is down."""
        if self.error is not None:
            return 0
        if self.stage == "connect":
            return _WRITE
        return _READ if not self._outbox.parts and self._write_error is None else _READ | _WRITE

    def on_ready(self, events: int) -> None:
        """Read and write as the events allow. Errors take the link down; after anything else (an interrupt) it can go on."""
        try:
            if self.stage == "up":
                if events & _WRITE:
                    self._flush()
                if events & _READ:
                    self._receive()
            else:
                self._open()
        except (OSError, KafkaError, MemoryError, AttemptFailed) as error:
            self._deliver()
            self.fail(self._explain(error))
        except BaseException:
            if self._tls is not None:
                self.fail(self._interrupted())
            raise

    def resume(self) -> None:
        """Finish an `on_ready` that was interrupted."""
        try:
            if self.error is None:
                self._settle()
        except (OSError, KafkaError, MemoryError) as error:
            self.fail(self._explain(error))
        except Exception as error:
            self.fail(ConnectionLost(f"reading was given up: {error!r}"))
            raise

    def _settle(self) -> None:
        """Parse the bytes received and complete their pendings. Repeatable until it has ended once."""
        if self._arrived:
            count = self._arrived[0]
            if count == 0:
                raise ConnectionLost("the broker closed the connection")
            self._replies = self._peer.received(count)
            self._arrived.clear()
        self._deliver()

    def _deliver(self) -> None:
        for pending, frame in self._replies:
            pending.complete(frame, None)
        self._replies = []

    def dispose(self) -> None:
        """Close the socket and complete the pendings that are left. Repeatable."""
        with self._lock:
            if self.error is None:
                self.error = ConnectionLost("closed")
            self.sock.close()
        self._complete_all()
        self._peer.end()

    def abandon(self, error: Exception) -> None:
        """Close the socket, which belongs to the parent process, without writing."""
        self.error = error
        self.sock.close()

    def _open(self) -> None:
        """Go on with connecting. The stage becomes "up" only after `opened` was completed: an interrupted call is repeated."""
        if self.stage == "connect":
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            refuse_self_connect(self.sock)
        if self._tls is not None:
            self.stage = "TLS"
            with self._lock:
                secured = self._handshake(self._tls)
            if not secured:
                return
        self._opened.complete(bytearray(), None)
        self.stage = "up"

    def _handshake(self, tls: TlsStream) -> bool:
        with contextlib.suppress(BlockingIOError):
            self._feed(tls)
        try:
            secured = tls.handshake()
        except OSError:
            with contextlib.suppress(OSError):
                self._write_sealed(tls)  # the alert that tells the broker the reason
            raise
        self._write_sealed(tls)
        return secured

    def _write_sealed(self, tls: TlsStream) -> None:
        self._outbox.parts.append(tls.sealed())
        self._outbox.drain(self.sock.sendmsg)

    def _feed(self, tls: TlsStream) -> None:
        data = self.sock.recv(_TLS_CHUNK)
        if not data:
            raise ConnectionLost("the broker closed the connection")
        tls.feed(data)

    def _flush(self) -> None:
        with self._lock:
            if self._write_error is None:
                self._outbox.drain(self.sock.sendmsg)
        if self._write_error is not None:
            # Bytes that the broker sent before it hung up tell more than the failed write: replies, or a TLS alert.
            while self._receive():
                pass
            raise self._write_error

    def _receive(self) -> bool:
        """Receive and parse once; False if nothing has arrived."""
        try:
            if self._tls is not None:
                self._receive_tls(self._tls)
            elif not self._arrived:
                self._arrived.extend(map(self.sock.recv_into, (self._peer.get_buffer(),)))
        except BlockingIOError:
            return False
        self._settle()
        return True

    def _receive_tls(self, tls: TlsStream) -> None:
        with self._lock:
            self._feed(tls)
            self._unseal(tls)
            answer = tls.sealed()
            if answer:
                self._outbox.parts.append(answer)

    def _unseal(self, tls: TlsStream) -> None:
        while count := tls.read_into(self._peer.get_buffer()):
            self._replies.extend(self._peer.received(count))

    def _explain(self, error: Exception) -> Exception:
        """The error that the pendings complete with, for an exception of the socket, of TLS or of the framing."""
        if not isinstance(error, OSError):
            return error
        if self.stage == "connect":
            return AttemptFailed("connect", reason_of(error))
        if self._tls is not None:
            from kafkawire.net.tls import handshake_failed, rejected

            if self.stage == "TLS":
                return handshake_failed(error, self._host)
            verdict = rejected(error)
            if verdict is not None:
                return verdict
        return error if isinstance(error, KafkaError) else ConnectionLost(f"connection lost: {reason_of(error)}")

    def _interrupted(self) -> Exception:
        if self.stage == "up":
            return ConnectionLost("a signal handler interrupted TLS in the middle of a record")
        return AttemptFailed(self.stage, "interrupted by a signal handler")

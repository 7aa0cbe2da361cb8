"""Signals, pendings and links of the blocking driver: what flows hold in their hands. Who waits and polls is in `blocking`.

Steps on what threads share can be run again after an interrupt; `blocking` says why and how.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkawire.errors import ConnectionLost, ForkedError, KafkaError
from kafkawire.net.connect import Address, AttemptFailed, reason_of, refuse_self_connect
from kafkawire.net.mutex import Exclusive
from kafkawire.protocol.frames import ClientPeer

if TYPE_CHECKING:
    import threading

    from kafkawire.net.blocking import Net
    from kafkawire.net.tls import TlsStream
    from kafkawire.protocol.frames import RequestFrame

__all__ = ["IDLE", "LEADING", "WAITING", "Link", "Pending", "Signal"]

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

IDLE, WAITING, LEADING = range(3)
"""What the owner of a signal does: not in wait, asleep at its gate, or leading."""

_MOST_PARTS = 64
"""Buffers given to one sendmsg; the kernel refuses more than 1024."""

_TLS_CHUNK = 65536
"""Bytes of ciphertext read at once: four of TLS's largest records."""

_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


class Signal:
    """See `net.base.Signal`."""

    __slots__ = ("flag", "gate", "net", "replies", "state")

    def __init__(self, net: Net) -> None:
        self.flag = False
        self.net = net
        self.replies = 0
        self.state = IDLE
        self.gate: threading.Lock | None = None

    def set(self) -> None:
        """Raise the flag and wake the waiter; any thread."""
        if not self.flag:
            with self.net.mutex:
                self.raise_flag()

    def clear(self) -> None:
        """Lower the flag."""
        self.flag = False

    def raise_flag(self) -> None:
        """`set` for a holder of the mutex. The flag comes last: were it raised, an interrupted `set` would not be repeated."""
        self.open_gate()
        if self.state == LEADING and self.net.polling:
            self.net.interrupt_poll()
        self.flag = True

    def open_gate(self) -> None:
        """Let the owner go if it waits; for a holder of the mutex."""
        if self.state == WAITING and self.gate is not None:
            self.state = IDLE
            self.gate.release()


class Pending:
    """See `net.base.Pending`."""

    __slots__ = ("done", "error", "signal", "value")

    def __init__(self, signal: Signal | None) -> None:
        self.signal = signal
        self.done = signal is None
        self.value: bytearray | None = None
        self.error: Exception | None = None

    def complete(self, value: bytearray | None, error: Exception | None) -> None:
        """Store the outcome, unless there is one, and wake the owner. Repeatable."""
        signal = self.signal
        if signal is None:
            self.error = error
            return
        with signal.net.mutex:
            if not self.done:
                self.value = value
                self.error = error
                self.done = True
                signal.replies -= 1
            signal.raise_flag()

    def result(self) -> bytearray:
        """The response frame; raises the error if there is one."""
        if self.error is not None:
            raise self.error.with_traceback(None)  # one error is shared by all pendings of a link
        return self.value if self.value is not None else bytearray()


class _Outbox:
    """Bytes on their way out, in order. What a write took is stored with the write, so an interrupted drain can go on."""

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
    """See `net.base.Link`. `opened` completes when the connection is up, with AttemptFailed when it cannot be had."""

    def __init__(self, net: Net, sock: socket.socket, host: str, opened: Pending, tls: TlsStream | None) -> None:
        self.error: Exception | None = None
        self.sock = sock
        self.stage = "connect"
        self.watched = 0
        """The events that the selector was asked for. The leader's."""
        self._net = net
        self._host = host
        self._opened = opened
        self._tls = tls
        self._lock = Exclusive()
        self._peer = ClientPeer()
        self._outbox = _Outbox()
        self._write_error: OSError | None = None
        self._told = False
        """Whether everybody who waits for a reply has been told that the link is down."""
        self._arrived: list[int] = []
        self._replies: list[tuple[Any, bytearray]] = []

    # ---- any thread

    def send(self, frame: RequestFrame, signal: Any) -> Pending:
        """See `net.base.Link.send`. Raises ForkedError in a child process."""
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
        """See `net.base.Link.fail`. If this is interrupted, the leader completes it: the shutdown shows in its poll."""
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
        """See `net.base.Link.backlog`."""
        return sum(map(len, list(self._outbox.parts)))

    @property
    def unsent(self) -> bool:
        """Whether bytes, or the bad news from the last write, wait for the leader."""
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
        """Tell everybody who waits, once: their signals wake flows, which must not be woken for nothing."""
        if not self._told:
            for pending in [self._opened, *self._peer.outstanding()]:
                pending.complete(None, self.error)
            self._told = True

    # ---- the leader

    def start(self, address: Address) -> None:
        """Begin to connect. Raises AttemptFailed if it is clear at once that it cannot be."""
        code = self.sock.connect_ex(address.sockaddr)
        if code not in _UNDER_WAY:
            raise AttemptFailed("connect", os.strerror(code))

    def interest(self) -> int:
        """What the selector should watch for; 0 when the link is down."""
        if self.error is not None:
            return 0
        if self.stage == "connect":
            return _WRITE
        return _READ if not self._outbox.parts and self._write_error is None else _READ | _WRITE

    def on_ready(self, events: int) -> None:
        """Do what the events allow. Errors take the link down; anything else (an interrupt) leaves it fit to go on."""
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
        """Finish what `on_ready` was interrupted in."""
        try:
            if self.error is None:
                self._settle()
        except (OSError, KafkaError, MemoryError) as error:
            self.fail(self._explain(error))
        except Exception as error:
            self.fail(ConnectionLost(f"reading was given up: {error!r}"))
            raise

    def _settle(self) -> None:
        """Parse what has arrived and complete its pendings. Repeatable, until it has come through once."""
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
        """Close the socket and complete what is left. Repeatable."""
        with self._lock:
            if self.error is None:
                self.error = ConnectionLost("closed")
            self.sock.close()
        self._complete_all()
        self._peer.end()

    def abandon(self, error: Exception) -> None:
        """Drop the socket without a word: it belongs to the parent process."""
        self.error = error
        self.sock.close()

    def _open(self) -> None:
        """Go on with connecting; the stage is up when its pending has been completed, for this is repeated if interrupted."""
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
                self._say(tls)  # the alert that tells the broker why
            raise
        self._say(tls)
        return secured

    def _say(self, tls: TlsStream) -> None:
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
            # What the broker said before it hung up says more than the failed write: replies, or an alert.
            while self._receive():
                pass
            raise self._write_error

    def _receive(self) -> bool:
        """Take what has arrived; False if there is nothing."""
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
        """The error that the pendings complete with."""
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

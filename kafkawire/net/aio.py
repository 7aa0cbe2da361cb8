"""The driver for asyncio: links are asyncio protocols, a wait is a future.

Everything runs on the loop's thread; what other threads may call (`Signal.set`, `Link.send`, `fail`, `close`) passes itself
on to it. Writes go into the transport's buffer, which is bounded by what flows allow to be in flight, as they send nothing more
before replies come.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
import time
import types
import weakref
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, cast

from kafkawire.errors import ClosedError, ConnectionLost, ForkedError, KafkaError, WrongLoopError
from kafkawire.net.base import NEVER
from kafkawire.net.connect import (
    Address,
    AttemptFailed,
    connect_in_turn,
    open_socket,
    reason_of,
    refuse_self_connect,
    tls_context,
)
from kafkawire.net.mutex import Mutex
from kafkawire.protocol.frames import ClientPeer

if TYPE_CHECKING:
    import socket
    import ssl

    from kafkawire.protocol.frames import RequestFrame

__all__ = ["Link", "Net", "Pending", "Signal", "Task"]

_JOIN_TIMEOUT = 5.0
"""Seconds that close() waits for sockets and spawned flows to end."""


class Signal:
    """See `net.base.Signal`."""

    __slots__ = ("flag", "future", "net")

    def __init__(self, net: Net) -> None:
        self.flag = False
        self.net = net
        self.future: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Raise the flag and wake the waiter; any thread."""
        self.flag = True
        if self.future is not None:
            self.net.on_loop(self._wake)

    def clear(self) -> None:
        """Lower the flag."""
        self.flag = False

    def _wake(self) -> None:
        if self.future is not None:
            _resolve(self.future)


class Pending:
    """See `net.base.Pending`."""

    __slots__ = ("done", "error", "signal", "value")

    def __init__(self, signal: Signal | None) -> None:
        self.signal = signal
        self.done = signal is None
        self.value: bytearray | None = None
        self.error: Exception | None = None

    def complete(self, value: bytearray | None, error: Exception | None) -> None:
        """Store the outcome, unless there is one, and wake the owner."""
        if self.signal is None:
            self.error = error
        elif not self.done:
            self.value = value
            self.error = error
            self.done = True
            self.signal.set()

    def result(self) -> bytearray:
        """The response frame; raises the error if there is one."""
        if self.error is not None:
            raise self.error.with_traceback(None)  # one error is shared by all pendings of a link
        return self.value if self.value is not None else bytearray()


class Link(asyncio.BufferedProtocol):
    """See `net.base.Link`."""

    def __init__(self, net: Net, sock: socket.socket, *, secured: bool) -> None:
        self.error: Exception | None = None
        self.gone = net.loop.create_future()
        """Done when asyncio has let go of the socket."""
        self._net = net
        self._sock = sock
        self._secured = secured
        self._heard = False
        self._peer = ClientPeer()
        self._transport: asyncio.Transport | None = None

    # ---- any thread

    def send(self, frame: RequestFrame, signal: Any) -> Pending:
        """See `net.base.Link.send`. Raises ForkedError in a child process."""
        pending = Pending(signal)
        if isinstance(self.error, ForkedError):
            raise self.error
        self._net.on_loop(self._send, frame, pending)
        return pending

    def fail(self, error: Exception) -> None:
        """See `net.base.Link.fail`."""
        self._net.on_loop(self._fail, error)

    def backlog(self) -> int:
        """See `net.base.Link.backlog`."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def close(self) -> None:
        """Take the link down."""
        self.fail(ConnectionLost("closed"))

    # ---- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport to write to."""
        self._transport = cast("asyncio.Transport", transport)
        self._net.links.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to receive into."""
        return self._peer.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes were received."""
        self._heard = True
        try:
            replies = self._peer.received(nbytes)
        except (KafkaError, MemoryError) as error:
            self._fail(error)
            return
        for pending, frame in replies:
            pending.complete(frame, None)

    def eof_received(self) -> None:
        """The broker will send no more."""
        self._fail(ConnectionLost("the broker closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self._fail(self._explain(exc))
        self._net.links.discard(self)
        self._peer.end()
        _resolve(self.gone)

    # ---- on the loop's thread

    def _send(self, frame: RequestFrame, pending: Pending) -> None:
        if self.error is not None or self._transport is None:
            pending.complete(None, self.error)
            return
        parts = self._peer.request(frame, None if pending.signal is None else pending)
        # Since Python 3.12, writelines is not what it was, up to 3.13.5 after a failed write (CPython gh-136234: it watches a
        # descriptor that may be the next connection's by now), and with an empty part (gh-155888: it writes that for ever).
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
                # In TLS 1.3 the broker judges our certificate after the handshake, and asyncio reports a failed write before
                # it reads the verdict.
                hint = "check ssl_certfile and ssl_keyfile"
                return ConnectionLost(f"connection lost right after the TLS handshake: {reason_of(error)}; {hint}")
        return ConnectionLost(f"connection lost: {reason_of(error)}")

    def abandon(self, error: Exception) -> None:
        """Drop the socket without a word: it belongs to the parent process."""
        self.error = error
        fd = self._sock.detach()
        if fd >= 0:
            os.close(fd)


class Task:
    """See `net.base.Task`."""

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None


class Net:
    """See `net.base.Net`; for the running loop. Its signals are its own: `signal: Any` below is one of them.

    In a child process after fork() it only raises ForkedError: the child's copies of the sockets are closed unwritten.
    """

    wall_clock = staticmethod(time.time)
    # Flows and callers share the loop's thread, but signals come from other threads too, with the state behind them.
    lock = staticmethod(Mutex)
    tls = staticmethod(tls_context)

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.loop = loop if loop is not None else asyncio.get_running_loop()
        self.now = self.loop.time
        self._thread = threading.get_ident()
        self._error: ClosedError | None = None
        self.links: set[Link] = set()
        """Those whose socket is open; they enter and leave by themselves."""
        self._waiting: set[asyncio.Future[None]] = set()
        self._tasks: dict[asyncio.Task[None], Coroutine[Any, Any, Any]] = {}
        _nets.add(self)

    def signal(self) -> Signal:
        """A new signal, for one flow to wait on."""
        return Signal(self)

    def spawn(self, coro: Coroutine[Any, Any, Any], done: Any = None, name: str = "kafkawire", *, brief: bool = False) -> Task:
        """Run a flow in a task of its own."""
        try:
            if self._error is not None:
                raise self._error
            self.check_loop()
        except KafkaError:
            coro.close()
            raise
        task = Task()

        async def body() -> None:
            try:
                await _pause()
            except asyncio.CancelledError:
                cast("asyncio.Task[None]", asyncio.current_task()).cancel()  # the flow's next wait is
            except GeneratorExit:
                _begin_and_end(coro)
                raise
            try:
                task.value = await coro
            except BaseException as error:
                task.error = error
                if not isinstance(error, Exception):  # cancellation and the like are asyncio's too
                    raise
            finally:
                task.done = True
                if done is not None:
                    done.set()

        begun = body()
        begun.send(None)  # a task that is cancelled before its first step would not run the flow's `finally`
        running = self.loop.create_task(begun, name=name)
        self._tasks[running] = coro
        running.add_done_callback(lambda ended: self._tasks.pop(ended, None))
        return task

    async def connect(self, host: str, port: int, tls: ssl.SSLContext | None, deadline: float) -> Link:
        """See `net.base.Net.connect`."""
        if self._error is not None:
            raise self._error

        async def attempt(address: Address, until: float) -> Link:
            return await self._attempt(address, until, host, tls)

        return await connect_in_turn(self, host, port, deadline, attempt)

    async def _attempt(self, address: Address, until: float, host: str, context: ssl.SSLContext | None) -> Link:
        started = self.now()
        stage = "connect"
        patience = asyncio.timeout_at(until if until < NEVER else None)
        sock = open_socket(address)
        try:
            async with patience:
                await self.loop.sock_connect(sock, address.sockaddr)
                refuse_self_connect(sock)
                if context is not None:
                    stage = "TLS"
                return await self._adopt(sock, host, context, max(until - self.now(), 0.001))
        except OSError as error:
            sock.close()
            if isinstance(error, TimeoutError) and patience.expired():
                raise AttemptFailed(stage, f"no answer in {self.now() - started:.1f} s") from None
            if stage == "TLS":
                from kafkawire.net.tls import handshake_failed

                raise handshake_failed(error, host) from None
            # asyncio puts "Connect call failed" in place of the reason.
            raise AttemptFailed(stage, os.strerror(error.errno) if error.errno else reason_of(error)) from None
        except BaseException:
            sock.close()
            raise

    async def _adopt(self, sock: socket.socket, host: str, context: ssl.SSLContext | None, patience: float) -> Link:
        """Hand a connected socket to asyncio, which shakes hands if there is a context."""
        link = Link(self, sock, secured=context is not None)
        if context is None:
            await self.loop.create_connection(lambda: link, sock=sock)
        else:
            from kafkawire.net.tls import server_name

            timeout = min(patience, 3600.0)  # asyncio's own; ours ends the attempt
            name = server_name(host)
            await self.loop.create_connection(
                lambda: link, sock=sock, ssl=context, server_hostname=name, ssl_handshake_timeout=timeout
            )
        return link

    async def wait(self, signal: Any, deadline: float = NEVER) -> bool:
        """See `net.base.Net.wait`. Raises ClosedError once the net is closed, ForkedError in a child process."""
        if signal.flag:
            return True
        if self._error is not None:
            raise self._error
        self.check_loop()
        future = signal.future = self.loop.create_future()
        timer = self.loop.call_at(deadline, _resolve, future) if deadline < NEVER else None
        self._waiting.add(future)
        try:
            if not signal.flag:  # another thread sets the flag before it looks for the future
                await future
        finally:
            self._waiting.discard(future)
            signal.future = None
            if timer is not None:
                timer.cancel()
        if not signal.flag and self._error is not None:
            raise self._error
        return bool(signal.flag)

    @property
    def closed(self) -> bool:
        """Whether it was closed, or is a child's copy of what the parent process has."""
        return self._error is not None

    @property
    def forked(self) -> bool:
        """Whether this is a child's copy of what the parent process has."""
        return isinstance(self._error, ForkedError)

    def check_loop(self) -> None:
        """Raise WrongLoopError in another event loop than this net's: what would be awaited there would never come."""
        if self.forked or asyncio.get_running_loop() is self.loop:
            return
        if not self.loop.is_closed():
            raise WrongLoopError("this client was made in another event loop, which still runs: use it and close it there")
        self.cut_off()
        raise WrongLoopError("this client was made in another event loop, which is closed: make a new client")

    async def close(self) -> None:
        """Close every link, make every wait raise ClosedError, and wait until sockets and flows are gone. Idempotent."""
        self.shut()
        ends = {link.gone for link in self.links} | set(self._tasks) - {asyncio.current_task()}
        if ends:
            await asyncio.wait(ends, timeout=_JOIN_TIMEOUT)

    def shut(self) -> None:
        """`close` without waiting for anybody."""
        if self._error is None:
            self._error = ClosedError("the network driver is closed: make a new client")
        for future in self._waiting:
            _resolve(future)
        for link in list(self.links):
            link.close()

    def finalize(self, call: Callable[[], None]) -> None:
        """Make a call that closes things for a finalizer, which the garbage collector runs in any thread at any time."""
        if self.loop.is_closed():
            self.cut_off()
            return
        with contextlib.suppress(RuntimeError):  # closed at this moment
            self.loop.call_soon_threadsafe(call)

    def drive(self, coro: Coroutine[Any, Any, Any], patience: float) -> None:
        """Run a flow at the end of the interpreter, if the loop still can."""
        if self.loop.is_closed():
            coro.close()
            self.cut_off()
        elif self.loop.is_running():  # in a thread, which ends with the interpreter
            with contextlib.suppress(concurrent.futures.TimeoutError):
                asyncio.run_coroutine_threadsafe(coro, self.loop).result(patience)
        else:
            self.loop.run_until_complete(coro)
            self.cut_off()

    def cut_off(self) -> None:
        """The loop runs no more: end the flows that it has left behind, and let go of the sockets."""
        if self._error is None:
            self._error = ClosedError("the event loop of this client runs no more: make a new client")
        for link in list(self.links):
            link.abandon(self._error)
        self.links.clear()
        for task, flow in list(self._tasks.items()):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - as asyncio.gather does
            with contextlib.suppress(RuntimeError):  # a flow that would wait on its way out
                cast("Coroutine[Any, Any, Any]", task.get_coro()).close()
                flow.close()  # which the task may not have begun
        self._tasks.clear()

    # ---- for signals and links

    def on_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        """Make the call on the loop's thread: now, if this is it. After the loop's end nobody is left to be told."""
        if self.loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            call(*arguments)
            return
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(call, *arguments)

    def abandon(self) -> None:
        """In a forked child: drop what belongs to the parent, without writing."""
        self._error = ForkedError("this client was made before fork(), in the parent process: make a new one in the child")
        for link in self.links:
            link.abandon(self._error)
        self.links.clear()


@types.coroutine
def _pause() -> Generator[None, None, None]:
    yield


def _begin_and_end(coro: Coroutine[Any, Any, Any]) -> None:
    """Have a flow that will not be run clean up what others rely on it for."""
    with contextlib.suppress(StopIteration, KafkaError):
        coro.send(None)
    coro.close()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


_nets: weakref.WeakSet[Net] = weakref.WeakSet()


def _abandon_all() -> None:
    for net in list(_nets):
        net.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)

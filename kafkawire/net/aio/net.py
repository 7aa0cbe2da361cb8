"""The asyncio driver itself: makes links, and runs each flow in its caller's task or in one of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import types
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, cast

from kafkawire.errors import ClosedError, ForkedError, KafkaError, WrongLoopError
from kafkawire.net.aio.links import Link
from kafkawire.net.aio.loop import LoopThread, resolve
from kafkawire.net.aio.signals import Signal
from kafkawire.net.base import NEVER
from kafkawire.net.connect import (
    AttemptFailed,
    ResolvedAddress,
    connect_in_turn,
    open_socket,
    reason_of,
    refuse_self_connect,
)
from kafkawire.net.driver import Driver, SpawnedTask

if TYPE_CHECKING:
    import socket
    import ssl

__all__ = ["Net"]

_JOIN_TIMEOUT = 5.0
"""Seconds that close() waits for sockets and spawned flows to end."""


class Net(Driver):
    """The driver for one event loop; see `net.base.Net`. Signals that a flow passes in, of type Any here, are this driver's."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.loop = loop if loop is not None else asyncio.get_running_loop()
        self.now = self.loop.time
        self._thread = LoopThread(self.loop)
        self.links: set[Link] = set()
        """Links whose socket is open; each enters and leaves by itself."""
        self._waiting: set[asyncio.Future[None]] = set()
        self._tasks: dict[asyncio.Task[None], Coroutine[Any, Any, Any]] = {}
        """Task of each spawned flow -> the flow."""
        super().__init__()

    def signal(self) -> Signal:
        """A new signal, for one flow to wait on."""
        return Signal(self._thread)

    def spawn(
        self, coro: Coroutine[Any, Any, Any], done: Any = None, name: str = "kafkawire", *, brief: bool = False
    ) -> SpawnedTask:
        """Run a flow in a task of its own."""
        try:
            if self._error is not None:
                raise self._error
            self.check_loop()
        except KafkaError:
            coro.close()
            raise
        task = SpawnedTask()

        async def body() -> None:
            try:
                await _pause()
            except asyncio.CancelledError:
                cast("asyncio.Task[None]", asyncio.current_task()).cancel()  # cancels the flow's next wait
            except GeneratorExit:
                _begin_and_end(coro)
                raise
            try:
                task.value = await coro
            except BaseException as error:
                task.error = error
                if not isinstance(error, Exception):  # asyncio has to see cancellation and the like
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
        """Connect to one broker; see `net.base.Net.connect`."""
        if self._error is not None:
            raise self._error

        async def attempt(address: ResolvedAddress, until: float) -> Link:
            return await self._attempt(address, until, host, tls)

        return await connect_in_turn(self, host, port, deadline, attempt)

    async def _attempt(self, address: ResolvedAddress, until: float, host: str, context: ssl.SSLContext | None) -> Link:
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
        link = Link(self._thread, self.links, sock, secured=context is not None)
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
        """Wait for a signal; see `net.base.Net.wait`. Raises ClosedError once closed, ForkedError in a child process."""
        if signal.flag:
            return True
        if self._error is not None:
            raise self._error
        self.check_loop()
        future = signal.future = self.loop.create_future()
        timer = self.loop.call_at(deadline, resolve, future) if deadline < NEVER else None
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

    def check_loop(self) -> None:
        """Raise WrongLoopError in another event loop than this net's, where a wait would never end."""
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
        """Close every link and make every wait raise ClosedError. Waits for nothing."""
        self._end(ClosedError("the network driver is closed: make a new client"))
        for future in self._waiting:
            resolve(future)
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
        """Once the loop runs no more: end the flows that it has left behind, and close the sockets."""
        error = self._end(ClosedError("the event loop of this client runs no more: make a new client"))
        for link in list(self.links):
            link.abandon(error)
        self.links.clear()
        for task, flow in list(self._tasks.items()):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - as asyncio.gather does
            with contextlib.suppress(RuntimeError):  # a flow that would wait on its way out
                cast("Coroutine[Any, Any, Any]", task.get_coro()).close()
                flow.close()  # which the task may not have begun
        self._tasks.clear()

    def abandon(self, error: ForkedError) -> None:
        """In a forked child: drop everything that belongs to the parent process, without writing."""
        self._end(error)
        for link in self.links:
            link.abandon(error)
        self.links.clear()


@types.coroutine
def _pause() -> Generator[None, None, None]:
    yield


def _begin_and_end(coro: Coroutine[Any, Any, Any]) -> None:
    """Begin a flow and close it at once, so that its `finally` cleans up what others rely on it for."""
    with contextlib.suppress(StopIteration, KafkaError):
        coro.send(None)
    coro.close()

"""The blocking driver itself: makes links, and runs each flow on the thread of its caller or on one of its own."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.net import threads
from kafkawire.net.blocking.links import Link
from kafkawire.net.blocking.poller import Poller
from kafkawire.net.blocking.signals import Pending, Signal
from kafkawire.net.connect import AttemptFailed, ResolvedAddress, connect_in_turn, open_socket
from kafkawire.net.driver import SpawnedTask

if TYPE_CHECKING:
    import ssl

    from kafkawire.errors import ForkedError
    from kafkawire.net.tls import TlsStream

__all__ = ["Net", "run"]

T = TypeVar("T")

_JOIN_TIMEOUT = 5.0
"""Seconds that close() waits for spawned flows to end."""


def run(coro: Coroutine[Any, Any, T]) -> T:
    """Run a flow to its end on this thread."""
    try:
        coro.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    coro.close()
    raise RuntimeError("a flow suspended in the blocking driver: it awaited something else than net.wait")


def _tls_stream(context: ssl.SSLContext | None, host: str) -> TlsStream | None:
    """The TLS side of one attempt, None without TLS; ssl is imported only where it is used."""
    if context is None:
        return None
    from kafkawire.net.tls import TlsStream

    return TlsStream(context, host)


class Net(Poller):
    """The driver for threads; see `net.base.Net`. Signals that a flow passes in, of type Any here, are this driver's."""

    def __init__(self) -> None:
        self._flows: dict[threading.Lock, int] = {}
        """Lock of each spawned flow, held until it has ended -> its thread, which enters and removes itself; 0 before."""
        super().__init__()

    def signal(self) -> Signal:
        """A new signal, for one flow to wait on."""
        return Signal(self)

    def spawn(
        self, coro: Coroutine[Any, Any, Any], done: Any = None, name: str = "kafkawire", *, brief: bool = False
    ) -> SpawnedTask:
        """Run a flow in a daemon thread of its own; see `threads.start` for `brief`."""
        if self._error is not None:
            coro.close()
            raise self._error
        task = SpawnedTask()
        running = threading.Lock()
        running.acquire()

        def body() -> None:
            self._flows[running] = threading.get_ident()
            try:
                task.value = run(coro)
            except BaseException as error:  # noqa: BLE001 - kept for whoever joins the task
                task.error = error
            task.done = True
            self._flows.pop(running, None)  # a child process has none, if the flow forked
            if done is not None:
                done.set()
            running.release()

        self._flows[running] = 0  # so that close() waits for a thread that is still to come
        try:
            threads.start(body, name, brief=brief)
        except BaseException:
            self._flows.pop(running, None)
            raise
        return task

    async def connect(self, host: str, port: int, tls: ssl.SSLContext | None, deadline: float) -> Link:
        """Connect to one broker; see `net.base.Net.connect`."""
        if self._error is not None:
            raise self._error

        async def attempt(address: ResolvedAddress, until: float) -> Link:
            return await self._attempt(address, until, host, _tls_stream(tls, host))

        return await connect_in_turn(self, host, port, deadline, attempt)

    async def _attempt(self, address: ResolvedAddress, until: float, host: str, tls: TlsStream | None) -> Link:
        started = self.now()
        signal = Signal(self)
        opened = Pending(signal)
        link = Link(self, open_socket(address), host, opened, tls)
        try:
            self._links.add(link)
            self.expect(signal)
            link.start(address)
            self.attend(link)
            await self.wait(signal, until)
            if not opened.done:
                link.fail(AttemptFailed(link.stage, f"no answer in {self.now() - started:.1f} s"))
            opened.result()
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        """Close every link, make every wait raise ClosedError, and give spawned flows time to end. Idempotent."""
        self.shut()
        until = self.now() + _JOIN_TIMEOUT
        for running, thread in list(self._flows.items()):
            if thread != threading.get_ident():
                running.acquire(True, max(0.0, until - self.now()))

    def drive(self, coro: Coroutine[Any, Any, Any], patience: float) -> None:
        """Run a flow at the end of the interpreter; it has a deadline of its own."""
        run(coro)

    cut_off = close

    def abandon(self, error: ForkedError) -> None:
        """In a forked child: forget the flows too, whose threads do not exist here."""
        super().abandon(error)
        self._flows.clear()

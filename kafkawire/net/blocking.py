"""The driver for threads: plain sockets, one selector lent to whichever thread waits, flows that never suspend.

Of the threads inside `Net.wait` one is the leader: it polls all links and completes everybody's pendings. The others sleep on
locks of their own. Only a waiter with replies outstanding leads (or any, while bytes wait to be written); when it leaves, it
hands over. The leader alone touches the selector, reads, and closes sockets. Anyone writes, under the link's lock, as much
as the socket takes at once; the leader writes the rest.

Ctrl-C may raise in the main thread at any call, loop or function entry, also while that thread works for others. So every
step on what is shared can be run again: a system call's result is stored by the same C call (`list.extend(map(...))`), and a
step ends with plain stores and one last call. Python's TLS objects do not allow that: an interrupt inside TLS takes the link
down rather than leave a gap in its stream.

A loop that ends with an `if` is in another function than the `try` or `with` around it, here and in the core: since Python
3.12 an interrupt between two rounds would pass by the `finally` (CPython gh-130279).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.errors import ClosedError, ConcurrentUseError, ForkedError
from kafkawire.net import threads
from kafkawire.net.base import NEVER
from kafkawire.net.connect import Address, AttemptFailed, connect_in_turn, open_socket, tls_context
from kafkawire.net.mutex import Mutex
from kafkawire.net.sockets import IDLE, LEADING, WAITING, Link, Pending, Signal

if TYPE_CHECKING:
    import ssl

    from kafkawire.net.tls import TlsStream

__all__ = ["Link", "Net", "Pending", "Signal", "Task", "run"]

T = TypeVar("T")

_LONGEST_POLL = 86400.0
"""Seconds; epoll takes its timeout as an int of milliseconds."""

_LONGEST_WAIT_OF_MAIN = 1.0
"""Seconds; CPython notices an interrupt that comes between its check for signals and the system call only when that returns.

In between, the main thread may wait for another one to take the GIL, which makes that likely where others are busy.
"""

_JOIN_TIMEOUT = 5.0
"""Seconds that close() waits for spawned flows to end."""

_ATTEMPTS = (1, 2, 3, 4, 5)
"""How often leaving is begun anew when interrupted. A tuple: making a range would be a call, and open to interrupts."""


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
    """The TLS side of one attempt, if there is one; ssl is imported only where it is used."""
    if context is None:
        return None
    from kafkawire.net.tls import TlsStream

    return TlsStream(context, host)


class Task:
    """See `net.base.Task`."""

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None


class Net:
    """See `net.base.Net`. Its signals are its own: `signal: Any` below is one of them, which a Protocol cannot say.

    In a child process after fork() it only raises ForkedError: the child's copies of the sockets are closed unwritten.
    """

    now = staticmethod(time.monotonic)
    wall_clock = staticmethod(time.time)
    lock = staticmethod(Mutex)
    tls = staticmethod(tls_context)

    def __init__(self) -> None:
        self.mutex = Mutex()
        """Guards who waits, who leads, and the outcome of pendings. Taken last: never held while taking a link's lock."""
        self.polling = False
        """Whether the leader is in its poll, so that only a byte in the socket pair reaches it."""
        self._error: ClosedError | None = None
        self._leader: Signal | None = None
        self._waiting: dict[Signal, None] = {}
        self._selector = selectors.DefaultSelector()
        self._intact = True
        """Whether the selector is what it should be, and not half changed by an interrupted call."""
        self._ear, self._bell = socket.socketpair()
        self._ear.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._links: set[Link] = set()
        self._unsent: set[Link] = set()
        self._todo: deque[Link] = deque()
        """Links whose state has changed under the leader's feet."""
        self._current: Link | None = None
        """The link that the leader is reading from."""
        self._flows: dict[threading.Lock, int] = {}
        """A lock for each spawned flow, held until it has ended -> its thread, which enters itself and goes; 0 before."""
        self._late: deque[Callable[[], None]] = deque()
        """Calls of finalizers that came at a bad moment."""
        _nets.add(self)

    def signal(self) -> Signal:
        """A new signal, for one flow to wait on."""
        return Signal(self)

    def spawn(self, coro: Coroutine[Any, Any, Any], done: Any = None, name: str = "kafkawire", *, brief: bool = False) -> Task:
        """Run a flow in a daemon thread of its own; see `threads.start` for `brief`."""
        if self._error is not None:
            coro.close()
            raise self._error
        task = Task()
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
        """See `net.base.Net.connect`."""
        if self._error is not None:
            raise self._error

        async def attempt(address: Address, until: float) -> Link:
            return await self._attempt(address, until, host, _tls_stream(tls, host))

        return await connect_in_turn(self, host, port, deadline, attempt)

    async def _attempt(self, address: Address, until: float, host: str, tls: TlsStream | None) -> Link:
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

    async def wait(self, signal: Any, deadline: float = NEVER) -> bool:
        """See `net.base.Net.wait`. Raises ClosedError once the net is closed, ForkedError in a child process."""
        if signal.flag:
            return True
        try:
            return self._wait(signal, deadline)
        finally:
            interrupt: BaseException | None = None
            for _ in _ATTEMPTS:
                try:
                    self._leave(signal)
                    break
                except BaseException as error:  # noqa: BLE001 - raised again below
                    interrupt = error
            if interrupt is not None:
                try:
                    raise interrupt
                finally:
                    interrupt = None  # or frame and traceback would keep each other alive

    @property
    def closed(self) -> bool:
        """Whether it was closed, or is a child's copy of what the parent process has."""
        return self._error is not None

    @property
    def forked(self) -> bool:
        """Whether this is a child's copy of what the parent process has."""
        return isinstance(self._error, ForkedError)

    def close(self) -> None:
        """Close every link, make every wait raise ClosedError, and give spawned flows time to end. Idempotent."""
        self.shut()
        until = self.now() + _JOIN_TIMEOUT
        for running, thread in list(self._flows.items()):
            if thread != threading.get_ident():
                running.acquire(True, max(0.0, until - self.now()))

    def shut(self) -> None:
        """`close` without waiting for anybody."""
        with self.mutex:
            if self._error is None:
                self._error = ClosedError("the network driver is closed: make a new client")
            for signal in self._waiting:
                signal.open_gate()
            if self.polling:
                self.interrupt_poll()
            alone = self._leader is None
        for link in list(self._links):
            link.close()
        if alone:
            self._dispose()

    def drive(self, coro: Coroutine[Any, Any, Any], patience: float) -> None:
        """Run a flow at the end of the interpreter; it has a deadline of its own."""
        run(coro)

    cut_off = close

    def finalize(self, call: Callable[[], None]) -> None:
        """Make a call that closes things for a finalizer, which the garbage collector runs in any thread at any time.

        If that is in the midst of this net, whose locks are to be taken in their order, the call is made at the end of a wait.
        """
        self._late.append(call)
        if not self.mutex.held():
            self._call_late()

    def _call_late(self) -> None:
        while self._late:
            call = self._late.popleft()
            try:
                call()
            except ConcurrentUseError:
                self._late.append(call)
                return

    # ---- for signals and links

    def interrupt_poll(self) -> None:
        """Make the leader's poll return; for a holder of the mutex."""
        self.polling = False
        self._bell.send(b"\0")

    def expect(self, signal: Signal) -> None:
        """One more reply will come for this signal, so its owner may lead."""
        with self.mutex:
            signal.replies += 1
            if self._leader is None:
                signal.open_gate()

    def attend(self, link: Link) -> None:
        """Have the leader look at a link. Without anybody who waits, the next leader does."""
        if link.unsent:
            self._unsent.add(link)
        self._todo.append(link)
        with self.mutex:
            if self.polling:
                self.interrupt_poll()
            elif self._leader is None:
                self._promote()
            over = self._error is not None and self._leader is None
        if over:
            link.dispose()

    def abandon(self) -> None:
        """In a forked child: drop what belongs to the parent, without writing."""
        error = ForkedError("this client was made before fork(), in the parent process: make a new one in the child")
        self._error = error
        self._leader = None
        self.polling = False
        self._waiting.clear()
        self._unsent.clear()
        self._todo.clear()
        self._flows.clear()
        for link in self._links:
            link.abandon(error)
        self._links.clear()
        self._selector.close()
        self._ear.close()
        self._bell.close()

    # ---- waiting and leading

    def _wait(self, signal: Any, deadline: float) -> bool:
        """Lead, or sleep at the gate, until the signal is set or the deadline has come. The caller makes it leave."""
        while True:
            with self.mutex:
                if signal.flag:
                    return True
                if self._error is not None:
                    raise self._error
                gate = self._enter(signal)
            if gate is None:
                self._lead(signal, deadline)
            elif deadline > (now := time.monotonic()):
                gate.acquire(True, min(deadline - now, _longest_wait()))
            if signal.flag or time.monotonic() >= deadline:
                return bool(signal.flag)
            if gate is None:
                self._leave(signal)

    def _may_lead(self, signal: Signal) -> bool:
        return signal.replies > 0 or bool(self._unsent)

    def _enter(self, signal: Signal) -> threading.Lock | None:
        """Become the leader, or get the gate to wait at; for a holder of the mutex."""
        if self._leader is None and self._may_lead(signal):
            self._leader = signal
            signal.state = LEADING
            return None
        gate = signal.gate
        if gate is None:
            gate = signal.gate = threading.Lock()
            gate.acquire()
        self._waiting[signal] = None
        signal.state = WAITING
        return gate

    def _leave(self, signal: Signal) -> None:
        """Finish what was begun, and hand over. Repeatable."""
        if self._leader is signal and self._current is not None:
            self._current.resume()
            self._current = None
        with self.mutex:
            if self._leader is signal:
                self._leader = None
                self.polling = False
            self._waiting.pop(signal, None)
            if signal.state == IDLE and signal.gate is not None:
                signal.gate.acquire(False)  # a wake-up that came after the wait had timed out
            signal.state = IDLE
            if self._leader is None:
                self._promote()
            over = self._error is not None and self._leader is None
        if over and not self.forked:
            self._dispose()
        if self._late:
            self._call_late()

    def _promote(self) -> None:
        """Wake one waiter that may lead; for a holder of the mutex."""
        for signal in self._waiting:
            if signal.state == WAITING and self._may_lead(signal):
                del self._waiting[signal]
                signal.open_gate()
                return

    def _lead(self, signal: Signal, deadline: float) -> None:
        """Poll until the signal is set, the deadline has come, or there is nothing left to poll for."""
        while self._may_lead(signal):
            if not self._intact:
                self._renew_selector()
            while self._todo:
                self._sync(self._todo[0])
                self._todo.popleft()
            with self.mutex:
                if signal.flag or self._error is not None:
                    return
                if self._todo:
                    continue
                self.polling = True
            left = deadline - time.monotonic()
            if left <= 0:
                return
            events = self._selector.select(min(left, _longest_wait()))
            self.polling = False
            for key, mask in events:
                link: Link | None = key.data
                if link is None:
                    self._listen()
                    continue
                self._current = link
                link.on_ready(mask)
                self._current = None
                if link.interest() != link.watched:
                    self._todo.append(link)

    def _listen(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._ear.recv(64)

    def _sync(self, link: Link) -> None:
        """Bring selector and socket in line with the state of a link."""
        wanted = link.interest()
        (self._unsent.add if wanted & selectors.EVENT_WRITE else self._unsent.discard)(link)
        if wanted != link.watched:
            self._intact = False
            if not wanted:
                self._selector.unregister(link.sock)
            elif link.watched:
                self._selector.modify(link.sock, wanted, link)
            else:
                self._selector.register(link.sock, wanted, link)
            link.watched = wanted
            self._intact = True
        if not wanted:
            link.dispose()
            self._links.discard(link)

    def _renew_selector(self) -> None:
        """Python's selectors are not fit to go on after an interrupt, but easily replaced."""
        selector = selectors.DefaultSelector()
        selector.register(self._ear, selectors.EVENT_READ)
        for link in list(self._links):
            link.watched = link.interest()
            if link.watched:
                selector.register(link.sock, link.watched, link)
            else:
                self._todo.append(link)
        old, self._selector = self._selector, selector
        self._intact = True
        old.close()

    def _dispose(self) -> None:
        """Close everything: the net is closed and nobody leads any more. Repeatable."""
        for link in list(self._links):
            link.dispose()
        self._links.clear()
        self._selector.close()
        self._ear.close()
        self._bell.close()


def _longest_wait() -> float:
    """Seconds that this thread may wait in one system call: interrupts come to the main thread only."""
    return _LONGEST_WAIT_OF_MAIN if threading.get_ident() == threading.main_thread().ident else _LONGEST_POLL


_nets: weakref.WeakSet[Net] = weakref.WeakSet()


def _abandon_all() -> None:
    for net in list(_nets):
        net.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)

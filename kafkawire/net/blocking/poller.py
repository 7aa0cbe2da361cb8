"""The poller: of the threads inside `wait`, one leads and polls every link; the others sleep on locks of their own.

Only a waiter with replies outstanding leads (or any, while bytes wait to be written); when it leaves, it hands over. The
leader alone touches the selector, reads, completes everybody's pendings and closes sockets. Any thread writes, under the
link's lock, as much as the socket takes at once; the leader writes the rest.

Each step on state that threads share can be run again after an interrupt.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from kafkawire.errors import ClosedError, ConcurrentUseError, ForkedError
from kafkawire.net.base import NEVER
from kafkawire.net.blocking.links import Link
from kafkawire.net.blocking.signals import IDLE, LEADING, WAITING, Signal
from kafkawire.net.driver import Driver
from kafkawire.net.mutex import Mutex

__all__ = ["Poller"]

_LONGEST_POLL = 86400.0
"""Seconds; epoll takes its timeout as an int of milliseconds."""

_LONGEST_WAIT_OF_MAIN = 1.0
"""Seconds; CPython notices an interrupt that comes between its check for signals and the system call only when that returns.

In between, the main thread may wait for another one to give up the GIL, which makes that likely where others are busy.
"""

_ATTEMPTS = (1, 2, 3, 4, 5)
"""Attempts to leave a wait when interrupts cut them off. A tuple: making a range would be a call, and open to interrupts."""


class Poller(Driver):
    """The half of the blocking driver that waits: who waits, who leads, which links are watched.

    `mutex` guards `polling`, `_leader`, `_waiting` and the state of signals. It is taken last: a link's lock is never taken
    while it is held. The selector, `_intact` and `_current` are the leader's.
    """

    now = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.mutex = Mutex()
        self.polling = False
        """True while the leader is in its poll, so that only a byte in the socket pair reaches it."""
        self._leader: Signal | None = None
        self._waiting: dict[Signal, None] = {}
        self._selector = selectors.DefaultSelector()
        self._intact = True
        """False while the selector may be half changed by an interrupted call."""
        self._ear, self._bell = socket.socketpair()
        self._ear.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._links: set[Link] = set()
        self._unsent: set[Link] = set()
        """Links with bytes that wait for their socket."""
        self._todo: deque[Link] = deque()
        """Links whose state has changed since the leader brought selector and socket in line with it."""
        self._current: Link | None = None
        """The link that the leader is reading from."""
        self._late: deque[Callable[[], None]] = deque()
        """Calls of finalizers that came while this net's locks were held."""
        super().__init__()

    async def wait(self, signal: Any, deadline: float = NEVER) -> bool:
        """Wait for a signal; see `net.base.Net.wait`. Raises ClosedError once closed, ForkedError in a child process."""
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

    def shut(self) -> None:
        """Close every link and make every wait raise ClosedError. Waits for nothing."""
        with self.mutex:
            self._end(ClosedError("the network driver is closed: make a new client"))
            for signal in self._waiting:
                signal.open_gate()
            if self.polling:
                self.interrupt_poll()
            alone = self._leader is None
        for link in list(self._links):
            link.close()
        if alone:
            self._dispose()

    def finalize(self, call: Callable[[], None]) -> None:
        """Make a call that closes things for a finalizer, which the garbage collector runs in any thread at any time.

        Where that thread holds a lock of this net, the call is made at the end of a wait: locks are taken in their order.
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
        """Count one more reply to come for this signal, so that its owner may lead."""
        with self.mutex:
            signal.replies += 1
            if self._leader is None:
                signal.open_gate()

    def attend(self, link: Link) -> None:
        """Have the leader look at a link whose state has changed; if nobody waits, the next leader does."""
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

    def abandon(self, error: ForkedError) -> None:
        """In a forked child: drop everything that belongs to the parent process, without writing."""
        self._end(error)
        self._leader = None
        self.polling = False
        self._waiting.clear()
        self._unsent.clear()
        self._todo.clear()
        for link in self._links:
            link.abandon(error)
        self._links.clear()
        self._selector.close()
        self._ear.close()
        self._bell.close()

    # ---- waiting and leading

    def _wait(self, signal: Any, deadline: float) -> bool:
        """Lead, or sleep at the gate, until the signal is set or the deadline has come. The caller calls `_leave`."""
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
        """Become the leader (None), or get the gate to sleep at; for a holder of the mutex."""
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
        """End a wait: finish an interrupted read, and hand the lead over. Repeatable."""
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
        """Bring selector and socket in line with the state of a link; the leader's."""
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
        """Replace the selector, which an interrupted call may have left half changed; the leader's."""
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
        """Close all sockets and the selector, once the net is closed and nobody leads any more. Repeatable."""
        for link in list(self._links):
            link.dispose()
        self._links.clear()
        self._selector.close()
        self._ear.close()
        self._bell.close()


def _longest_wait() -> float:
    """Seconds that this thread may wait in one system call: interrupts come to the main thread only."""
    return _LONGEST_WAIT_OF_MAIN if threading.get_ident() == threading.main_thread().ident else _LONGEST_POLL

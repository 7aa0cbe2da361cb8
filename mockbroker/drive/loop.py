"""Event loop of a cluster on TCP: the one thread that touches the cluster, for sockets, timers and calls of other threads."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker.state.timers import NEVER

if TYPE_CHECKING:
    from mockbroker.drive.cluster_time import ClusterTime
    from mockbroker.state.timers import Timers

__all__ = ["IoLoop"]

T = TypeVar("T")

_LONGEST_SLEEP = 3600.0
"""Seconds. Selectors take no more than some weeks, timers may be further away."""


class IoLoop:
    """Thread with a selector. It alone touches the cluster; `call` and `wait_until`, which are thread-safe, go through it.

    timers: of the cluster. time: of the cluster.
    """

    def __init__(self, timers: Timers, time: ClusterTime) -> None:
        self.timers = timers
        self.time = time
        self.now = time.now
        self._ready: deque[Callable[[], None]] = deque()
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._conditions: list[tuple[Callable[[], bool], Future[None]]] = []
        self._lock = threading.RLock()
        """Guards `running`, and appending to `_calls` and `_conditions`."""
        self._thread: threading.Thread | None = None
        self.running = False
        """True between `start` and `stop`. A call that finds it True under the lock will be run."""

    def open(self) -> None:
        """Make the selector, so that sockets can be watched."""
        self._selector = selectors.DefaultSelector()
        self._wake_end, self._woken_end = socket.socketpair()
        self._wake_end.setblocking(False)
        self._woken_end.setblocking(False)
        self.watch(self._woken_end, selectors.EVENT_READ, self._drain_wakes)

    def start(self) -> None:
        """Start the thread, after `open`."""
        self.running = True
        self._thread = threading.Thread(target=self._run, name="mockbroker", daemon=True)
        self._thread.start()

    def stop(self, last: Callable[[], None]) -> None:
        """Run a last action in the thread, then end it and close the selector. Does nothing if the thread is not there."""
        if self._thread is not None:
            self.call(lambda: self._end(last))
            self._thread.join()
            self._thread = None

    def _end(self, last: Callable[[], None]) -> None:
        with self._lock:
            self.running = False
        last()
        self.close()

    def close(self) -> None:
        """Close the selector, if the thread was not started."""
        self._selector.close()
        self._wake_end.close()
        self._woken_end.close()

    def call(self, action: Callable[[], T]) -> T:
        """Run an action while nothing else touches the cluster: in the thread, or at once while the loop does not run."""
        if threading.current_thread() is self._thread:
            return action()
        done: Future[T] = Future()
        with self._lock:
            if not self.running:
                return action()
            self._calls.append((action, done))
            self._wake()
        return done.result()

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition is true, which the thread asks after each of its turns; False after `timeout` seconds."""
        if threading.current_thread() is self._thread:
            return condition()
        met: Future[None] = Future()
        with self._lock:
            self._conditions.append((condition, met))
            if self.running:
                self._wake()
            else:
                self._check_conditions()
        try:
            met.result(timeout)
        except TimeoutError:
            return not met.cancel()  # False if the thread was quicker
        finally:
            met.cancel()
        return True

    def watch(self, sock: socket.socket, events: int, on_event: Callable[[int], None]) -> None:
        """Call `on_event` on these events of a socket from now on; 0 for no events."""
        watched = sock in self._selector.get_map()
        if events and watched:
            self._selector.modify(sock, events, on_event)
        elif events:
            self._selector.register(sock, events, on_event)
        elif watched:
            self._selector.unregister(sock)

    def call_soon(self, action: Callable[[], None]) -> None:
        """Run an action in the next turn. In the thread only."""
        self._ready.append(action)

    def settle(self) -> None:
        """Run everything that is due now. In the thread only."""
        now = self.now()
        while self._ready or self.timers.next_deadline <= now:  # a request may set a timer that is due at once
            self._turn()

    def _run(self) -> None:
        while self.running:
            self._poll()
            self._run_calls()
            self._turn()
            if self._conditions:
                self._check_conditions()
        with self._lock:
            self._run_calls()

    def _poll(self) -> None:
        """Wait for events and handle them. No variable outlives it that would keep a connection which one of them has ended."""
        for key, mask in self._selector.select(self._select_timeout()):
            key.data(mask)

    def _select_timeout(self) -> float | None:
        """Return the seconds until something is due; None while time stands still, or if nothing is due."""
        deadline, now = self.timers.next_deadline, self.now()
        if self._ready or deadline <= now:
            return 0
        return None if self.time.held or deadline == NEVER else min(deadline - now, _LONGEST_SLEEP)

    def _run_calls(self) -> None:
        while self._calls:
            _execute(*self._calls.popleft())

    def _turn(self) -> None:
        """Run the timers that are due, and the actions that are ready now."""
        self.timers.run(self.now())
        for _ in range(len(self._ready)):
            self._ready.popleft()()

    def _check_conditions(self) -> None:
        """Tell those whose condition is true, and forget them and those who gave up."""
        with self._lock:
            self._conditions = [waiting for waiting in self._conditions if not _settle(*waiting)]

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full of wake-ups: the thread will notice
            self._wake_end.send(b"\0")

    def _drain_wakes(self, _mask: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken_end.recv(4096):
                pass


def _execute(action: Callable[[], Any], done: Future[Any]) -> None:
    try:
        done.set_result(action())
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        done.set_exception(error)


def _settle(condition: Callable[[], bool], met: Future[None]) -> bool:
    """Complete the future if the condition is true or raises; True if nobody waits any more."""
    try:
        if met.cancelled() or not condition():
            return met.cancelled()
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        if met.set_running_or_notify_cancel():
            met.set_exception(error)
    else:
        if met.set_running_or_notify_cancel():
            met.set_result(None)
    return True

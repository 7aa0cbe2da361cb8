"""Signals and pendings of the blocking driver: flags that wake a sleeping thread or the leader's poll, and replies.

Each step on state that threads share can be run again after an interrupt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kafkawire.net.driver import Reply

if TYPE_CHECKING:
    import threading

    from kafkawire.net.mutex import Mutex

__all__ = ["IDLE", "LEADING", "WAITING", "Pending", "Signal", "SignalOwner"]

IDLE, WAITING, LEADING = range(3)
"""State of a signal's owner: not in wait, asleep at its gate, or leading."""


class SignalOwner(Protocol):
    """The poller, as its signals know it."""

    mutex: Mutex
    polling: bool

    def interrupt_poll(self) -> None:
        """Make the leader's poll return; for a holder of the mutex."""


class Signal:
    """A flag that wakes its waiter; see `net.base.Signal`. The poller's mutex guards all but `flag`."""

    __slots__ = ("flag", "gate", "net", "replies", "state")

    def __init__(self, net: SignalOwner) -> None:
        self.flag = False
        self.net = net
        self.replies = 0
        """Outstanding replies; with any, the owner of the signal may lead."""
        self.state = IDLE
        self.gate: threading.Lock | None = None
        """A lock that the owner sleeps on, made by the first wait."""

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
        """Let the owner go if it sleeps at the gate; for a holder of the mutex."""
        if self.state == WAITING and self.gate is not None:
            self.state = IDLE
            self.gate.release()


class Pending(Reply[Signal]):
    """One outstanding reply; see `net.base.Pending`. Completed by the leader, or by whoever takes the link down."""

    __slots__ = ()

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

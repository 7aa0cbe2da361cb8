"""Parts that both drivers share: the base classes of `Net` and `Pending`, and spawned flows."""

from __future__ import annotations

import os
import time
import weakref
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kafkawire.errors import ClosedError, ForkedError
from kafkawire.net.mutex import Mutex

if TYPE_CHECKING:
    import ssl

    from kafkawire.config import TlsOptions

__all__ = ["Driver", "Reply", "SpawnedTask"]

S = TypeVar("S")


class SpawnedTask:
    """A spawned flow; see `net.base.Task`."""

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None


class Reply(Generic[S]):
    """One outstanding reply, done from the start if no signal waits for it; see `net.base.Pending`."""

    __slots__ = ("done", "error", "signal", "value")

    def __init__(self, signal: S | None) -> None:
        self.signal = signal
        self.done = signal is None
        self.value: bytearray | None = None
        self.error: Exception | None = None

    def result(self) -> bytearray:
        """The response frame; raises the error if there is one."""
        if self.error is not None:
            raise self.error.with_traceback(None)  # one error is shared by all pendings of a link
        return self.value if self.value is not None else bytearray()


class Driver:
    """Base class of `Net` in both drivers: the clock, locks, TLS, and whether the net still works.

    In a child process after fork() a net only raises ForkedError: the child's copies of the sockets are closed unwritten.
    A subclass calls `__init__` last, since from then on a fork calls `abandon`.
    """

    wall_clock = staticmethod(time.time)
    lock = staticmethod(Mutex)
    """Needed on an event loop too: other threads set signals, and change the state behind them."""

    def __init__(self) -> None:
        self._error: ClosedError | None = None
        """Raised by every wait once the net no longer works; written by `_end`."""
        _drivers.add(self)

    @staticmethod
    def tls(options: TlsOptions) -> ssl.SSLContext:
        """The context of these options; see `net.base.Net.tls`. Imports ssl only where it is used."""
        from kafkawire.net.tls import client_context

        return client_context(options)

    @property
    def closed(self) -> bool:
        """True if this net was closed, or belongs to the parent process."""
        return self._error is not None

    @property
    def forked(self) -> bool:
        """True if this net belongs to the parent process, and this is a child's copy of it."""
        return isinstance(self._error, ForkedError)

    def _end(self, error: ClosedError) -> ClosedError:
        """Have every wait raise the error that is returned: the first one, or a fork's."""
        if self._error is None or isinstance(error, ForkedError):
            self._error = error
        return self._error

    def abandon(self, error: ForkedError) -> None:
        """In a forked child: drop everything that belongs to the parent process, without writing."""
        raise NotImplementedError


_drivers: weakref.WeakSet[Driver] = weakref.WeakSet()


def _abandon_all() -> None:
    for driver in list(_drivers):
        driver.abandon(ForkedError("this client was made before fork(), in the parent process: make a new one in the child"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)

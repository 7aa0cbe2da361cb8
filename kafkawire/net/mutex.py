"""Locks that hold out against interrupts: against signal handlers that raise, and handlers and finalizers that call us."""

from __future__ import annotations

import _thread
import os
import weakref
from typing import Any

from kafkawire.errors import ConcurrentUseError

__all__ = ["Exclusive", "Mutex"]

_RLock: Any = _thread.RLock
"""The class behind the function `threading.RLock`. Any, since type checkers take it for final."""


_all: weakref.WeakSet[Any] = weakref.WeakSet()


class Mutex(_RLock):  # type: ignore[misc]
    """An RLock that a `with` statement always gives back.

    In Python 3.14 an interrupt can come after `__enter__` and before what makes sure of `__exit__` (CPython gh-148874), but
    not when `__enter__` is a Python function: signals are checked after its calls, not after its return. If the interrupt
    came before the lock was taken, `release` raises, since an RLock knows its holder.

    After fork() the mutex is free in the child, where the thread that may have held it does not exist.
    """

    __slots__ = ()

    def __init__(self) -> None:
        _all.add(self)

    def held(self) -> bool:
        """True if this thread holds the mutex."""
        owned: bool = self._is_owned()
        return owned

    def __enter__(self) -> bool:
        try:
            self.acquire()
        except BaseException:
            try:  # noqa: SIM105 - suppress() is two calls more, where another interrupt would keep the lock
                self.release()
            except RuntimeError:
                pass  # interrupted while it waited
            raise
        return True


class Exclusive(Mutex):
    """A Mutex that its holder cannot take again: for work that must not begin in the midst of itself."""

    __slots__ = ()

    def __enter__(self) -> bool:
        """Take the mutex. Raises ConcurrentUseError if this thread holds it: it would wait for itself."""
        if self.held():
            raise ConcurrentUseError("a signal handler or finalizer that uses a connection came while its thread was using it")
        return super().__enter__()


def _free_all() -> None:
    for mutex in list(_all):
        mutex._at_fork_reinit()  # noqa: SLF001 - as the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)

"""Locks that hold out against interrupts: against signal handlers that raise, and handlers and finalizers that call us."""

from __future__ import annotations

import _thread
import os
import weakref
from typing import Any

from kafkawire.errors import ConcurrentUseError

__all__ = ["Exclusive", "Mutex"]

_RLock: Any = _thread.RLock
"""What `threading.RLock`, a function, makes. Type checkers take it for final."""


_all: weakref.WeakSet[Any] = weakref.WeakSet()


class Mutex(_RLock):  # type: ignore[misc]
    """An RLock that a `with` statement always gives back.

    In Python 3.14 an interrupt can come after `__enter__` and before what makes sure of `__exit__` (CPython gh-148874), but
    not when `__enter__` is a Python function: its calls are followed by that check, its return is not. If the interrupt
    came before the lock was had, an RLock knows that.

    After fork() nobody holds it in the child, where the thread that may have held it does not exist.
    """

    __slots__ = ()

    def __init__(self) -> None:
        _all.add(self)

    def held(self) -> bool:
        """Whether this thread has it."""
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
    """A Mutex for what a thread must not do in the midst of doing it."""

    __slots__ = ()

    def __enter__(self) -> bool:
        """Raises ConcurrentUseError if this thread holds it: what interrupts would wait for what it interrupts."""
        if self.held():
            raise ConcurrentUseError("a signal handler or finalizer that uses a connection came while its thread was using it")
        return super().__enter__()


def _free_all() -> None:
    for mutex in list(_all):
        mutex._at_fork_reinit()  # noqa: SLF001 - as the standard library does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)

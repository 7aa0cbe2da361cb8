"""Starting threads so that an interrupt neither loses one nor holds up the others."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

__all__ = ["start"]


def start(body: Callable[[], None], name: str, *, brief: bool = False) -> None:
    """Run `body` in a daemon thread. Raises RuntimeError if no thread can be started.

    From Python 3.12 on no thread can be started once the interpreter ends, when producers still have records to send. The
    caller runs a `brief` body itself then.

    Another thread calls `Thread.start`, because interrupts only come to the main thread. Inside `Thread.start` an interrupt can
    keep the lock of the Event that the new thread sets first, so that the thread never runs a line of its body; or it comes
    out as RuntimeError("release unlocked lock"). In Python 3.14 it can also keep the lock that every thread takes when it
    begins and when it ends (CPython gh-148874): then no thread of the process can begin or end any more.
    """
    try:
        _thread.start_new_thread(_start, (threading.Thread(target=body, name=name, daemon=True),))
    except RuntimeError:
        if not brief:
            raise
        body()


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError:  # this was the last thread that the system had
        thread.run()

"""Starting threads so that an interrupt neither loses one nor holds up the others."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

__all__ = ["start"]


def start(body: Callable[[], None], name: str, *, brief: bool = False) -> None:
    """Run `body` in a daemon thread. Raises RuntimeError if no thread can be started.

    From Python 3.12 on none can be once the interpreter ends, when producers still want to send what they hold. What is `brief`
    is run by the caller then.

    Another thread calls `Thread.start`, because interrupts only come to the main thread. In there an interrupt can keep the
    lock of the Event that the new thread sets first, which then waits for ever without having run a line of its body; or it
    comes out as RuntimeError("release unlocked lock"). In Python 3.14 it can also keep the lock that every thread takes when
    it begins and when it ends (CPython gh-148874), and then no thread of the process does either any more.
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

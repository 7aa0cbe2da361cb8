"""The driver for threads: plain sockets, one selector lent to whichever thread waits, flows that never suspend.

`signals` and `links` are what flows hold, `poller` is who waits and who polls, `net` makes links and runs flows.

Ctrl-C may raise in the main thread at any call, loop or function entry, also while that thread works for others. So every
step on shared state can be run again: a system call's result is stored by the same C call (`list.extend(map(...))`), and a
step ends with plain stores and one last call. Python's TLS objects do not allow that: an interrupt inside TLS takes the link
down rather than leave a gap in its stream.

A loop that ends with an `if` is in another function than the `try` or `with` around it, here and in the core: since Python
3.12 an interrupt between two rounds would pass by the `finally` (CPython gh-130279).
"""

from __future__ import annotations

from kafkawire.net.blocking.net import Net, run

__all__ = ["Net", "run"]

"""The driver for asyncio: links are asyncio protocols, a wait is a future.

`signals` and `links` are what flows hold, `loop` is the loop's thread, `net` makes links and runs flows.

Everything runs on the loop's thread; calls that other threads may make (`Signal.set`, `Link.send`, `fail`, `close`) are handed
over to it. Writes go into the transport's buffer, which is bounded by what flows allow to be in flight, as they send nothing
more before replies come.
"""

from __future__ import annotations

from kafkawire.net.aio.net import Net

__all__ = ["Net"]

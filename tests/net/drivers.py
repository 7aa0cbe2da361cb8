"""One test body for both drivers: a flow that is given a net."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafkawire.net import aio, blocking

Flow = Callable[[Any], Coroutine[Any, Any, Any]]

SOON = 30.0
"""Seconds for what happens at once, unless something is broken."""


def run_blocking(flow: Flow) -> Any:
    net = blocking.Net()
    try:
        return blocking.run(flow(net))
    finally:
        net.close()


def run_asyncio(flow: Flow) -> Any:
    async def main() -> Any:
        net = aio.Net()
        try:
            return await flow(net)
        finally:
            await net.close()

    return asyncio.run(main(), debug=True)  # so that calls from a wrong thread raise


both_drivers = pytest.mark.parametrize("run", [run_blocking, run_asyncio], ids=["blocking", "asyncio"])


async def connect(net, server, tls=None):
    context = None if tls is None else net.tls(tls)
    return await net.connect(server.host, server.port, context, net.now() + SOON)


async def until(net, condition, deadline: float) -> None:
    """Look again and again, with pauses, for what has no signal."""
    while not condition():
        assert net.now() < deadline, "it did not happen"
        await net.wait(net.signal(), net.now() + 0.001)

"""One test body for both faces: the asyncio one is called as if it blocked, each call being a task on a loop of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

import kafkawire
import kafkawire.aio

SOON = 30.0
"""Seconds for what happens at once, unless something is broken."""


class Blocking:
    """The blocking face as it is."""

    Connection = kafkawire.Connection
    Producer = kafkawire.Producer
    Consumer = kafkawire.Consumer


class OnLoop:
    """The asyncio face, on a loop in a thread; a context manager."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_debug(True)  # calls from a wrong thread raise
        self.loop.slow_callback_duration = SOON
        self._thread = threading.Thread(target=self.loop.run_forever, name="tests-asyncio")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def run(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Make a call on the loop; await what it returns if that is a coroutine."""

        async def body() -> Any:
            made = call(*arguments, **options)
            return await made if inspect.iscoroutine(made) else made

        return asyncio.run_coroutine_threadsafe(body(), self.loop).result(2 * SOON)

    def Connection(self, *arguments: Any, **options: Any) -> Any:  # noqa: N802 - named as what it makes
        return Proxy(self, self.run(kafkawire.aio.Connection, *arguments, **options))

    def Producer(self, *arguments: Any, **options: Any) -> Any:  # noqa: N802
        return Proxy(self, self.run(kafkawire.aio.Producer, *arguments, **self._unwrapped(options)))

    def Consumer(self, *topics: str, **options: Any) -> Any:  # noqa: N802
        return Proxy(self, self.run(kafkawire.aio.Consumer, *topics, **self._unwrapped(options)))

    def _unwrapped(self, options: dict[str, Any]) -> dict[str, Any]:
        return {name: value.target if isinstance(value, Proxy) else value for name, value in options.items()}


class Proxy:
    """An object of the asyncio face with calls that block."""

    def __init__(self, on: OnLoop, target: Any) -> None:
        self.on = on
        self.target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.target, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            made = self.on.run(found, *arguments, **options)
            return Handle(self.on, made) if hasattr(made, "__await__") else made

        return call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *leaving: object) -> None:
        self.on.run(self.target.__aexit__, *leaving)

    def __next__(self) -> Any:
        end = object()
        record = self.on.run(_next, self.target, end)
        if record is end:
            raise StopIteration
        return record

    def __iter__(self) -> Iterator[Any]:
        records = self.on.run(self.target.__aiter__)
        end = object()
        try:
            while (record := self.on.run(_next, records, end)) is not end:
                yield record
        finally:
            self.on.run(_end, records)


class Handle:
    """A delivery of the asyncio face."""

    def __init__(self, on: OnLoop, target: Any) -> None:
        self.on = on
        self.target = target

    def done(self) -> bool:
        return bool(self.target.done())

    def result(self, timeout: float | None = None) -> Any:
        return self.on.run(_within, self.target, timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        try:
            self.result(timeout)
        except kafkawire.errors.KafkaError as error:
            return error
        return None


async def _next(records: Any, end: object) -> Any:
    return await anext(records, end)


async def _end(records: Any) -> None:
    await records.aclose()  # not a coroutine, which `run` would know


async def _within(target: Any, timeout: float | None) -> Any:
    async with asyncio.timeout(timeout):
        return await target

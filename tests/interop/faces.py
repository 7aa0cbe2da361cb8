"""The two faces of kafkawire behind one set of calls, so that one test body checks either."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, Protocol, Self

import kafkawire
from kafkawire import aio

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

__all__ = ["FACES", "TIMEOUT", "AsyncioFace", "BlockingFace", "Face"]

TIMEOUT = 60
"""Seconds for anything that should take a few."""


class Face(Protocol):
    """Makes clients whose calls return what they are named for, not something to await."""

    def connection(self, bootstrap: str, **options: Any) -> Any: ...

    def producer(self, **options: Any) -> Any: ...

    def consumer(self, *topics: str, **options: Any) -> Any: ...

    def result(self, delivery: Any) -> Any:
        """Result of a handle of `send`, `send_many` or `send_arrow`."""
        ...

    def meanwhile(self, action: Callable[[], object]) -> None:
        """Do something slow while the clients go on with what they do by themselves."""
        ...

    def close(self) -> None: ...


class BlockingFace:
    """kafkawire as it is."""

    def connection(self, bootstrap: str, **options: Any) -> kafkawire.Connection:
        return kafkawire.Connection(bootstrap, **options)

    def producer(self, **options: Any) -> kafkawire.Producer:
        return kafkawire.Producer(**options)

    def consumer(self, *topics: str, **options: Any) -> kafkawire.Consumer:
        return kafkawire.Consumer(*topics, **options)

    def result(self, delivery: Any) -> Any:
        return delivery.result(timeout=TIMEOUT)

    def meanwhile(self, action: Callable[[], object]) -> None:
        action()

    def close(self) -> None:
        """Nothing of its own."""


class AsyncioFace:
    """kafkawire.aio, run by a loop that turns for the duration of each call."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def connection(self, bootstrap: str, **options: Any) -> Awaited:
        return Awaited(self.run, lambda: aio.Connection(bootstrap, **options))

    def producer(self, *, connection: Awaited | None = None, **options: Any) -> Awaited:
        return Awaited(self.run, lambda: aio.Producer(connection=target_of(connection), **options))

    def consumer(self, *topics: str, connection: Awaited | None = None, **options: Any) -> Awaited:
        return Awaited(self.run, lambda: aio.Consumer(*topics, connection=target_of(connection), **options))

    def result(self, delivery: Any) -> Any:
        async def awaited() -> Any:
            async with asyncio.timeout(TIMEOUT):
                return await delivery

        return self.run(awaited())

    def meanwhile(self, action: Callable[[], object]) -> None:
        self.run(asyncio.to_thread(action))

    def close(self) -> None:
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(coroutine)


class Awaited:
    """An object of kafkawire.aio whose calls are awaited, and whose iteration is collected until it ends by itself."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any], make: Callable[[], Any]) -> None:
        async def made() -> Any:
            return make()

        self._run = run
        self.target = run(made())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **options: Any) -> Any:
            found = getattr(self.target, name)(*args, **options)
            return await found if inspect.iscoroutine(found) else found

        return lambda *args, **options: self._run(call(*args, **options))

    def __enter__(self) -> Self:
        self._run(self.target.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._run(self.target.__aexit__(*error))

    def __iter__(self) -> Iterator[Any]:
        async def collect() -> list[Any]:
            return [each async for each in self.target]

        return iter(self._run(collect()))


def target_of(awaited: Awaited | None) -> Any:
    return None if awaited is None else awaited.target


FACES: dict[str, Callable[[], Face]] = {"blocking": BlockingFace, "asyncio": AsyncioFace}

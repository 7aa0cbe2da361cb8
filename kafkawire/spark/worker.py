"""State that a Python worker keeps between tasks: open clients, and objects that the garbage collector leaves alone.

Spark reuses its workers, and their modules with them as long as the package is importable there. A worker runs one task at a
time, so no state here needs a lock.
"""

from __future__ import annotations

import functools
import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from pyspark import TaskContext

from kafkawire import Connection, Producer

__all__ = ["Kept", "connections", "producers"]

T = TypeVar("T")

IDLE_SECONDS = 300.0
"""Seconds without use after which a client is closed when the next one is lent; the JVM connector's time too."""


class Kept(Generic[T]):
    """Clients of one kind, kept by their options. Each is lent to one task at a time."""

    def __init__(self, make: Callable[[Any], T], close: Callable[[T], None]) -> None:
        self._make = make
        self._close = close
        self._idle: dict[tuple[int, frozenset[tuple[str, Any]]], tuple[T, float]] = {}

    @contextmanager
    def lend(self, options: Mapping[str, Any]) -> Iterator[T]:
        """A client with these options; one that sees an error, or belongs to a task that failed before, is not used again."""
        key = os.getpid(), frozenset(options.items())
        self._close_idle(time.monotonic() - IDLE_SECONDS)
        if _is_retry():
            self._forget(key)
        client = self._idle.pop(key)[0] if key in self._idle else self._make(options)
        healthy = True
        try:
            yield client
        except Exception:
            healthy = False
            raise
        finally:
            if healthy:
                self._forget(key)
                self._idle[key] = client, time.monotonic()
            else:
                self._close(client)
            _freeze_once()

    def _close_idle(self, last_use: float) -> None:
        for key in [key for key, (_, used) in self._idle.items() if used <= last_use]:
            self._forget(key)

    def _forget(self, key: tuple[int, frozenset[tuple[str, Any]]]) -> None:
        if key in self._idle:
            self._close(self._idle.pop(key)[0])


def _is_retry() -> bool:
    task = TaskContext.get()
    return task is not None and task.attemptNumber() > 0


@functools.cache
def _freeze_once() -> None:
    """Exempt all objects loaded by the end of the first task from garbage collection.

    PySpark's worker collects garbage after every task, which takes 27 ms with pyarrow and numpy loaded, 3 ms with these exempt.
    """
    if TaskContext.get() is not None:
        gc.freeze()


connections: Kept[Connection] = Kept(lambda options: Connection(**options), Connection.close)
producers: Kept[Producer] = Kept(lambda options: Producer(**options), lambda producer: producer.close(timeout=0))
"""A producer is lent between flushes, so that closing one fails nothing but records of a task that failed itself."""

"""Runs a fuzz target: inputs one after the other, each within bounds of time and memory; a crash names its input."""

from __future__ import annotations

import random
import signal
import time
import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.fuzz.mutator import Mutator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Crash", "Target", "examine", "fuzz"]

MOST_SECONDS: Final = 10
"""CPU seconds for one input; milliseconds are usual."""
MOST_MEMORY: Final = 32 << 20
"""Bytes for one input, which is a few kilobytes; what unpacks anything has a `LIMIT` far below."""
TRACED: Final = 16
"""Memory is watched for one input in so many, since that slows Python down."""


@dataclass(frozen=True, slots=True)
class Target:
    """Function under fuzzing. The docstring of `check` states the invariant that holds for any bytes."""

    name: str
    seeds: Callable[[], Sequence[bytes]]
    """Valid inputs to begin with."""
    check: Callable[[bytes], bool]
    """Raises if the invariant is broken; returns whether the input was valid, so that others are made of it."""
    keep: int = 0
    """Bytes at the beginning of a seed that stay as they are."""


class Crash(Exception):
    """An input that breaks a target's invariant; the message says how to run it again."""

    def __init__(self, target: Target, data: bytes, fault: BaseException) -> None:
        super().__init__(
            f"{target.name}: {type(fault).__name__}: {fault}\n"
            f"Again: python -m tests.fuzz {target.name} --input {data.hex() or repr('')}\n"
            "Once it is mended, add the input to FOUND in tests/fuzz/test_fuzz.py."
        )
        self.data = data


class OutOfBounds(BaseException):
    """Too much time; no `except Exception` on the way may take it for damage in the input."""


def fuzz(target: Target, seed: int, *, count: int | None = None, seconds: float | None = None) -> int:
    """Try `count` inputs, or as many as fit in `seconds`; returns how many. Raises Crash.

    The same seed and count give the same inputs.
    """
    dice = random.Random(f"{target.name} {seed}")
    seeds = target.seeds()
    for data in seeds:
        if not examine(target, data, traced=False):  # what is imported on first use is no part of an input's memory
            raise Crash(target, data, AssertionError("a seed is not valid"))
    mutator = Mutator(seeds, dice, target.keep)
    end = None if seconds is None else time.monotonic() + seconds
    done = 0
    while (count is None or done < count) and (end is None or time.monotonic() < end):
        data = mutator.make()
        if examine(target, data, traced=done % TRACED == 0):
            mutator.remember(data)
        done += 1
    return done


def examine(target: Target, data: bytes, *, traced: bool = True) -> bool:
    """Try one input; returns whether it was valid. Raises Crash."""
    try:
        with _limited_time(), _limited_memory(traced):
            return target.check(data)
    except (Exception, OutOfBounds) as fault:
        raise Crash(target, data, fault) from fault


@contextmanager
def _limited_time() -> Iterator[None]:
    """The process's own time, so that a busy machine counts for nothing, and pytest-timeout keeps its SIGALRM."""

    def stop(*_: Any) -> None:
        raise OutOfBounds(f"it takes more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def _limited_memory(traced: bool) -> Iterator[None]:
    if not traced:
        yield
        return
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > MOST_MEMORY:
        raise OutOfBounds(f"it takes {peak} bytes of memory, more than {MOST_MEMORY}")

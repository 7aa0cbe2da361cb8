"""Benchmarks as rows of contenders, and the measurement of one contender: a process of its own with a fresh client."""

from __future__ import annotations

import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "REPOSITORY",
    "Contender",
    "Failure",
    "Job",
    "Line",
    "Row",
    "Sample",
    "Stopwatch",
    "Topic",
    "keys_of",
    "load_accelerators",
    "measure",
    "measure_together",
    "processor_time",
    "values_of",
]

REPOSITORY = Path(__file__).parent.parent
POOL = 10_000
"""Different values and keys in a run; more than a batch of 1 MB holds of 100 bytes each."""
QUICK_PART = 10
"""The part of a job, one in so many, that `--quick` does."""


@dataclass(frozen=True, slots=True)
class Job:
    """Task of one run."""

    count: int
    """Records, or repetitions."""
    size: int = 0
    """Bytes of a value."""
    keyed: bool = False
    """True if records have 8-byte keys, 10,000 different ones."""
    idempotent: bool = False
    """True to produce with acks=all and idempotence, else with acks=1."""
    bootstrap: str = ""
    topic: str = ""
    partitions: int = 0
    """Of the topic, or in a message."""
    message: str = ""
    """A request or response class, as Kafka calls it; `version` is its version."""
    version: int = 0
    encode: bool = False
    """True to encode (or compress), else to decode."""
    shape: str = ""
    """Parts that the records of a batch have beside values."""
    codec: str = ""


class Sample(NamedTuple):
    """Result of one run: records sent by a producer, or read by a consumer, and the time."""

    done: int
    seconds: float


class Topic(Enum):
    """Topic that a row's runs find on the broker."""

    NONE = "none"
    """No broker."""
    ANY = "any"
    """A broker; no topic."""
    EMPTY = "empty"
    """An empty topic for each run, whose records are counted afterwards."""
    FILLED = "filled"
    """A topic with the job's records, shared by all runs of its size."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One side of a comparison."""

    name: str
    run: Callable[[Job], Sample]
    """Defined in a module; it imports its client itself."""
    module: str = "kafkawire"
    """Package that has to be installed."""
    share: float = 1.0
    """The part of the job's records that it gets, where it would take too long for all."""
    goal: float | None = None
    """The first contender's ratio to this one that is wanted now. On the first contender: the figure itself."""
    aim: float | None = None
    """Ratio that is wanted in the end."""

    def available(self) -> bool:
        return find_spec(self.module) is not None

    def part_of(self, job: Job) -> Job:
        """Part of a job that this contender gets."""
        return replace(job, count=max(1, round(job.count * self.share)))


@dataclass(frozen=True, slots=True)
class Row:
    """One number of kafkawire's (the first contender) and what it is compared with."""

    name: str
    """Name on the command line; several rows may share it."""
    title: str
    job: Job
    contenders: Sequence[Contender]
    topic: Topic = Topic.NONE
    together: bool = False
    """True if the contenders share a process: where microseconds are compared and a run leaves nothing behind."""
    rate: bool = True
    """True if the figure is records per second (more is better), else seconds per repetition (less is better)."""

    def figure(self, sample: Sample) -> float:
        return sample.done / sample.seconds if self.rate else sample.seconds / sample.done

    def shortened(self) -> Row:
        """The row with a part of its job."""
        return replace(self, job=replace(self.job, count=max(1, self.job.count // QUICK_PART)))


class Failure(Exception):
    """A run did not end well."""


@dataclass(slots=True)
class Line:
    """A contender's figures in a row, one a round."""

    contender: Contender
    figures: list[float] = field(default_factory=list)
    remark: str = ""
    """Why there are no more figures."""
    failed: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.figures)

    def ratio_of(self, first: Line) -> float | None:
        """Ratio of the row's first contender to this one: the median over the rounds that both finished."""
        ratios = [ours / theirs for ours, theirs in zip(first.figures, self.figures, strict=False)]
        return statistics.median(ratios) if ratios else None


def values_of(job: Job) -> list[bytes]:
    """The values of a job, incompressible: no byte is predictable from the others of its batch."""
    pool = os.urandom(POOL * job.size)
    return _repeat([pool[at : at + job.size] for at in range(0, len(pool), job.size)], job.count)


def keys_of(job: Job) -> list[bytes]:
    """As many keys."""
    return _repeat([os.urandom(8) for _ in range(POOL)], job.count)


def _repeat(pool: list[bytes], count: int) -> list[bytes]:
    return (pool * (count // len(pool) + 1))[:count]


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def read(self) -> float:
        return time.perf_counter() - self._start


def load_accelerators() -> None:
    """Import what kafkawire does at the first large batch, and the peers with the client: imports are a number of their own."""
    for package in ("crc32c", "numpy"):
        import_module(package)


def processor_time(call: Callable[[], object], times: int) -> float:
    """The seconds that calling something takes, without those that other programs take meanwhile.

    What was there before is kept from the garbage collector, or some of the contenders that share a process would now and
    then have to pay for a visit to the modules of all.
    """
    gc.collect()
    gc.freeze()
    start = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - start


def measure(contender: Contender, job: Job, limit: float) -> Sample:
    """Run a contender in a process of its own. Raises Failure, also when it takes more than `limit` seconds."""
    return measure_together([contender], job, 1, limit)[0][0]


def measure_together(contenders: Sequence[Contender], job: Job, rounds: int, limit: float) -> list[list[Sample]]:
    """Run contenders by turns in one process; for each of them a sample of every round. Raises Failure as `measure` does."""
    runs = [
        (f"{contender.run.__module__}:{contender.run.__qualname__}", asdict(contender.part_of(job))) for contender in contenders
    ]
    command = [sys.executable, "-m", "bench.child", json.dumps(runs), str(rounds)]
    # A session of its own, so that whatever it has started (Spark's JVM and workers) ends with it.
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failure(f"not done in {limit:.0f} s") from None
    finally:
        _end_session(process)
    if process.returncode != 0:
        print(errors, file=sys.stderr)
        raise Failure(f"failed: {output.splitlines()[-1] if output else process.returncode}")
    return [[Sample(*sample) for sample in samples] for samples in json.loads(output.splitlines()[-1])]


def _end_session(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()

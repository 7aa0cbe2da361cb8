"""Runs many seeds: python -m tests.sim --seeds 10000 --from 5000 --jobs 2. Says of each that fails how to run it alone."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator
from functools import partial

from tests.sim.scenarios import SCENARIOS
from tests.sim.simulation import run

SHOWN_EVERY = 10.0
"""Seconds between lines of progress."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds (1)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first of them (0)")
    parser.add_argument("--scenario", choices=SCENARIOS, help="the same for all; left out, seeds take the scenarios in turn")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--stop", action="store_true", help="stop at the first that fails")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    if given.seeds == 1:
        logging.basicConfig(level=logging.DEBUG)
        print(run(given.first, given.scenario))
        return 0
    return 1 if show(outcomes(seeds, given.scenario, given.jobs), len(seeds), stop=given.stop) else 0


def outcomes(seeds: range, scenario: str | None, jobs: int) -> Iterator[str | None]:
    """Failure of each seed, or None, in the order in which they end."""
    work = partial(outcome, scenario)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap_unordered(work, seeds, chunksize=10)


def outcome(scenario: str | None, seed: int) -> str | None:
    logging.disable(logging.CRITICAL)
    try:
        run(seed, scenario)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown, and the other seeds are run
        shown = traceback.format_exception_only(error)
        return f"{shown[-1].strip()}\n    {shown[0].strip()[:300]}"
    return None


def show(outcomes: Iterator[str | None], count: int, *, stop: bool) -> int:
    """Print failures as they come, and now and then and in the end how far it is; returns how many failed."""
    failed, shown = 0, time.monotonic()
    for done, problem in enumerate(outcomes, 1):
        if problem is not None:
            failed += 1
            print(problem, flush=True)
        if done == count or (failed and stop) or time.monotonic() - shown >= SHOWN_EVERY:
            shown = time.monotonic()
            print(f"{done} of {count} seeds, {failed} failed", flush=True)
        if failed and stop:
            break
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzing on demand: `python -m tests.fuzz [target ...] [--seconds N] [--seed S]`, or one input again with `--input HEX`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.fuzz.runner import Crash, examine, fuzz
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Run the targets in turn; 1 if one of them crashes."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"{', '.join(TARGETS)}; all of them if none is given")
    parser.add_argument("--seconds", type=float, default=60, help="for each target (default: 60)")
    parser.add_argument("--seed", type=int, help="the same seed gives the same inputs (default: another one every time)")
    parser.add_argument("--input", metavar="HEX", type=bytes.fromhex, help="only this input, of one target")
    options = parser.parse_args()
    unknown = set(options.target) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if options.input is not None and len(options.target) != 1:
        parser.error("--input needs one target")
    seed = time.time_ns() if options.seed is None else options.seed
    try:
        for name in options.target or TARGETS:
            if options.input is not None:
                fuzz(TARGETS[name], seed, count=0)
                print(f"{name}: {'valid' if examine(TARGETS[name], options.input) else 'refused as it should be'}")
            else:
                print(f"{name}: {fuzz(TARGETS[name], seed, seconds=options.seconds)} inputs with seed {seed}", flush=True)
    except Crash as crash:
        traceback.print_exception(crash.__cause__)
        print(f"{crash}\nThe seed was {seed}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

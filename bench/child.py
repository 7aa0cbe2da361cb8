"""Runs of contenders, by turns: `python -m bench.child [[module:function, job], ...] rounds`.

Its last line of output is JSON: a list of samples for each contender, or the error as a text.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from bench.harness import Job, Sample


def main() -> None:
    contenders, rounds = json.loads(sys.argv[1]), int(sys.argv[2])
    samples: list[list[Sample]] = [[] for _ in contenders]
    try:
        for number in range(rounds):
            for at in range(len(contenders))[:: -1 if number % 2 else 1]:
                samples[at].append(_run(*contenders[at]))
    except Exception as error:
        # What comes last on the standard error may be Spark's.
        print(json.dumps(f"{type(error).__name__}: {error}".splitlines()[0]), flush=True)
        raise
    print(json.dumps(samples), flush=True)


def _run(target: str, job: dict[str, object]) -> Sample:
    module, function = target.split(":")
    sample: Sample = getattr(import_module(module), function)(Job(**job))  # type: ignore[arg-type]
    return sample


if __name__ == "__main__":
    main()

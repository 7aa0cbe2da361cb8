"""One run of one contender: `python -m bench.child module:function job`, which prints what it measured as its last line."""

from __future__ import annotations

import json
import sys
from importlib import import_module

from bench.harness import Job


def main() -> None:
    target, job = sys.argv[1:]
    module, function = target.split(":")
    sample = getattr(import_module(module), function)(Job(**json.loads(job)))
    print(json.dumps(sample), flush=True)


if __name__ == "__main__":
    main()

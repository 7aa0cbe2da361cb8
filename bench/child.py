"""One run of one contender: `python -m bench.child module:function job`.

Its last line of output is JSON: what is in a Sample, or the error as a text.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from bench.harness import Job


def main() -> None:
    target, job = sys.argv[1:]
    module, function = target.split(":")
    try:
        sample = getattr(import_module(module), function)(Job(**json.loads(job)))
    except Exception as error:
        # What comes last on the standard error may be Spark's.
        print(json.dumps(f"{type(error).__name__}: {error}".splitlines()[0]), flush=True)
        raise
    print(json.dumps(sample), flush=True)


if __name__ == "__main__":
    main()

"""Applies every break to a copy of the tree and shows who notices it: python -m tests.mutations [words of its description]."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutations.table import MUTATIONS, Mutation
from tests.sim.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
PARTS = ("kafkawire", "mockbroker", "tests", "pyproject.toml")

SEEDS = 200
"""Number of seeds of a scenario that has to notice a break."""
PATIENCE = 600
"""Seconds for one command: a break may also make a flow spin, which is noticed, too."""

FAILURES = ("    ", "FAILED")
"""Beginnings of the lines in which the simulation and pytest report a failure."""


def main() -> int:
    words = " ".join(sys.argv[1:])
    survivors = 0
    for mutation in MUTATIONS:
        if words in mutation.what:
            for command in mutation.noticed_by:
                found = failure(mutation, command)
                survivors += found is None
                print("SURVIVES" if found is None else "noticed ", f"{mutation.what}\n         {command}: {found}", flush=True)
    return 1 if survivors else 0


def failure(mutation: Mutation, command: str) -> str | None:
    """Failure of a command with the break, or None if it passes. Without the break it passes: CI runs it."""
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, Path(folder, part))
        broken = Path(folder, mutation.path)
        broken.write_text(mutated(mutation, broken.read_text()))
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ran = subprocess.run(
                [sys.executable, "-m", *arguments(command)],
                cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "it goes on for ever"
    if ran.returncode == 0:
        return None
    told = [line.strip() for line in ran.stdout.splitlines() if line.startswith(FAILURES)]
    if not told:
        raise ValueError(f"{command} with {mutation.what!r} ended with {ran.returncode} and said {ran.stdout!r}")
    return told[0][:110]


def mutated(mutation: Mutation, text: str) -> str:
    count = text.count(mutation.old)
    if count != 1:
        raise ValueError(f"{mutation.path} has the text of {mutation.what!r} {count} times, not once")
    return text.replace(mutation.old, mutation.new)


def arguments(command: str) -> list[str]:
    if command in SCENARIOS:
        return ["tests.sim", "--scenario", command, "--seeds", str(SEEDS), "--stop"]
    return ["pytest", "-q", "-x", "--tb=no", *command.split()]


if __name__ == "__main__":
    sys.exit(main())

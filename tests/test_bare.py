"""The suite without numpy, pyarrow and every accelerator, as `pytest --bare` runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

AREAS = ("protocol", "core", "client", "mockbroker", "sim")
"""Directories whose tests run code that has a pure Python form; the others would not differ."""


@pytest.mark.heavy
@pytest.mark.timeout(1200)
def test_the_suite_passes_without_any_optional_package():
    """At the size of a plain `make test`. Few tests are skipped: those of Arrow, zstd and the accelerators themselves."""
    command = [sys.executable, "-m", "pytest", "--bare", "-p", "no:cacheprovider", *(f"tests/{area}" for area in AREAS)]
    environment = {name: value for name, value in os.environ.items() if name != "KAFKAWIRE_CI"}
    root = Path(__file__).parents[1]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=1100)
    assert run.returncode == 0, run.stdout[-10_000:]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", run.stdout.splitlines()[-1])}
    assert counts["passed"] > 5 * counts["skipped"], run.stdout[-10_000:]

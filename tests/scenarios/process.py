"""One client's adapter in a process of its own: a step goes in as a line of JSON, what was seen comes back as another."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Adapter", "AdapterError"]

ROOT = Path(__file__).parents[2]
"""Root of the repository: Python's adapters are modules in it."""

STEP_TIMEOUT = 40
"""Seconds for a step; adapters give up by themselves after 25."""

STOP_TIMEOUT = 5

LOG_TAIL = 3000


class AdapterError(Exception):
    """The process ended or hung; the message ends with what it wrote to standard error."""


class Adapter:
    """The process that runs `command`, until `close()`. After an AdapterError it is ended."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
        )
        self._reader = ThreadPoolExecutor(1)

    def ask(self, do: str, fields: dict[str, Any]) -> dict[str, Any]:
        """{"answer": ...} or {"error": code, "message": ...}. Raises AdapterError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
            self._process.stdin.flush()
            line = self._reader.submit(self._read_line).result(STEP_TIMEOUT)
        except (BrokenPipeError, StillRunning) as error:
            raise self._broken(do, fields, type(error).__name__) from None
        if not line:
            raise self._broken(do, fields, "it ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def _broken(self, do: str, fields: dict[str, Any], how: str) -> AdapterError:
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")[-LOG_TAIL:]
        return AdapterError(f"{do} {str(fields)[:300]}: {how}; it said:\n{said}")

    def close(self) -> None:
        """Let it end by itself, or end it, and wait for that. A second call does nothing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.shutdown()
        self._process.stdout.close()
        self._errors.close()

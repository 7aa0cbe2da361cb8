"""Runs the demo's Spark job in a process of its own, where PySpark and Java are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

import click

from kafkawire.config import ConnectionOptions

__all__ = ["SparkJob", "lacking", "run"]

OLDEST_JAVA = 17
ADVICE = f"install Java {OLDEST_JAVA}+, and put it on the PATH or set JAVA_HOME"


def lacking() -> str | None:
    """Advice on installing the package or the Java that Spark lacks here; None if it can run."""
    if find_spec("pyspark") is None:
        return f"PySpark is not installed: pip install 'kafkawire[spark]', and {ADVICE}"
    java = _java()
    if java is None:
        return f"there is no Java: {ADVICE}"
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603 - the user's own
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return f"{java} is not Java {OLDEST_JAVA}: {ADVICE}"
    return None


def _java() -> str | None:
    """The java that Spark's launcher takes."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(Path(home, "bin", "java") if home else "java")


class SparkJob:
    """A running `kafkawire.cli.demo.spark_job`."""

    def __init__(self, results: IO[str], log: IO[str]) -> None:
        self._results = results
        self._log = log

    def result(self) -> Any:
        """Wait for the job's next step; returns what it reports. Raises ClickException with the job's log if it failed."""
        line = self._results.readline()
        if not line:
            self._log.seek(0)
            raise click.ClickException(f"Spark failed:\n{self._log.read()}")
        return json.loads(line)


def _spark_options(client: ConnectionOptions) -> dict[str, str]:
    """A client's options as those of the data source."""
    given = {name: value for name, value in client.items() if value is not None}
    return {f"kafka.{name.replace('_', '.')}": str(value) for name, value in given.items()}


@contextmanager
def run(client: ConnectionOptions, *topics: str) -> Iterator[SparkJob]:
    """Run the job for as long as the context lasts; all its processes have ended afterwards.

    It reads the options from stdin, since there may be secrets among them.

    It is a process of its own because PySpark, when it is interrupted while it starts the JVM, leaves one behind that never
    ends. As a group of processes, job and JVM get the signal to end, and a Ctrl-C only through here. What Spark and the JVM
    write to stderr, which no setting silences altogether, goes to a file.
    """
    on_terminate = signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM cleans up as Ctrl-C does
    command = [sys.executable, "-m", "kafkawire.cli.demo.spark_job", *topics]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=log, text=True, process_group=0) as process,  # noqa: S603 - ours
    ):
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - they are pipes
        try:
            process.stdin.write(json.dumps(_spark_options(client)))
            process.stdin.close()
            yield SparkJob(process.stdout, log)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            signal.signal(signal.SIGTERM, on_terminate)
            process.stdout.read()  # ends when the last process that can write to it does, so the JVM too

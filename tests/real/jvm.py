"""One Java process: started with a class path, logged to a file, watched while it starts, ended by its pid."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["MEASURED_JVM", "QUICK_JVM", "JavaProcess", "StartError", "run_java"]

QUICK_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For tests: small and soon there, since the optimising compiler is left out."""

MEASURED_JVM = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
"""For benchmarks: the heap and the collector that Kafka's own start script uses."""

COMMON_OPTIONS = (
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
    # Releases from before Java 9 look into the JDK's own packages, and ZooKeeper 3.4 into a log4j that 1.1 does not bring.
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dzookeeper.jmx.log4j.disable=true",
)

PROBE_INTERVAL = 0.05
STOP_TIMEOUT = 30
RUN_TIMEOUT = 120
LOG_LINES = 40


class StartError(Exception):
    """A process did not come up; the message ends with the last lines of its log."""


class JavaProcess:
    """A running main class whose output goes to `log`."""

    def __init__(
        self, name: str, main: str, *arguments: str, jars: Sequence[Path], log: Path, options: Sequence[str] = QUICK_JVM
    ) -> None:
        self.name = name
        self._log = log
        # A session of its own: Ctrl-C in the terminal is for the tests, which then end this process in good order.
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                _command(main, *arguments, jars=jars, options=options),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                start_new_session=True,
            )

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Return once `ready()` holds; StartError if the process ends first or `timeout` seconds pass."""
        deadline = time.monotonic() + timeout
        while not ready():
            if self._process.poll() is not None:
                raise StartError(f"{self.name} ended with exit code {self._process.returncode}{self._last_lines()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self.name} was not ready within {timeout} s{self._last_lines()}")
            time.sleep(PROBE_INTERVAL)

    def has_logged(self, text: str) -> bool:
        """True if its output contains `text`."""
        return text in self._log.read_text(errors="replace")

    def stop(self) -> None:
        """Ask it to end, wait, and insist after a while. A second call does nothing."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def _last_lines(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join(["; its last lines:", *lines])


def run_java(main: str, *arguments: str, jars: Sequence[Path], cwd: Path) -> str:
    """Run a main class to its end and return what it printed; StartError if it fails."""
    command = _command(main, *arguments, jars=jars, options=QUICK_JVM)
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=RUN_TIMEOUT)
    if result.returncode != 0:
        raise StartError(f"{main} {' '.join(arguments)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def _command(main: str, *arguments: str, jars: Sequence[Path], options: Sequence[str]) -> list[str]:
    class_path = os.pathsep.join(map(str, jars))
    return [
        "java",
        *options,
        *COMMON_OPTIONS,
        "-Dlog4j.configuration=file:log4j.properties",
        "-cp",
        class_path,
        main,
        *arguments,
    ]

"""Rules for every test: what it may be skipped for, how Hypothesis runs, `--bare`, parallel runs, and that its threads end."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from kafkawire.errors import MissingDependencyError
from tests import bare, requirements

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

LONG_TIMEOUT = 600
"""Seconds for a test that may have to fetch a broker's jars or to start Spark."""

JOIN_TIMEOUT = 5
"""Seconds that a closed client's threads have to end."""

WITHOUT_PURE_FORM = ("Arrow", "zstd")
"""The features that need a package: where `--bare` hides it, kafkawire says so, and a test that wants them cannot run."""

UNTIMED = ("config", "core", "fuzz", "mutations", "protocol", "sim")
"""Directories whose tests read no clock and wait for no other process: they may run beside any other test."""

OUR_THREADS = ("kafkawire", "mockbroker")
"""Beginnings of the names of kafkawire's and mockbroker's threads."""

# Examples are the same in every CI run, so that a red run is always about the change; elsewhere they vary and find more.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, database=None)
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.load_profile("ci" if requirements.CI else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--bare`."""
    parser.addoption("--bare", action="store_true", help="hide numpy, pyarrow and all accelerators; run no heavy tests")


def pytest_configure(config: pytest.Config) -> None:
    """Hide packages before any test file is imported, and let Ctrl-C interrupt; bare runs have the same examples every time."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("bare"):
        bare.hide()
        hypothesis.settings.load_profile("ci")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests of real brokers, and lengthen the timeout of tests that may wait for Maven or Spark."""
    if "real_kafka" in getattr(item, "fixturenames", ()):
        item.add_marker("real")
    slow = any(item.get_closest_marker(name) for name in ("real", "spark"))
    if slow and item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(LONG_TIMEOUT))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share the tests among the processes of `-n`: all tests with clocks, brokers or Spark to one, the others file by file.

    xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.2: they are written into an id that it does not use.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if Path(file).parts[1] in UNTIMED else "timed"

    return Grouped(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """See to a test's requirements before its fixtures start anything."""
    if item.get_closest_marker("heavy") and (not requirements.CI or bare.hidden()):
        pytest.skip("heavy: runs where KAFKAWIRE_CI=1 is set, and not with --bare")
    if item.get_closest_marker("real"):
        requirements.require_maven()
    if item.get_closest_marker("spark"):
        requirements.require_pyspark()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """With `--bare` skip what kafkawire itself calls impossible without a package; any other missing import is a failure."""
    try:
        yield
    except MissingDependencyError as error:
        if bare.hidden() and str(error).startswith(WITHOUT_PURE_FORM):
            pytest.skip(str(error))
        raise


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    """A test ends with the threads it began with. Unclosed sockets need no check: their ResourceWarning is an error."""
    before = set(threading.enumerate())
    yield
    end = time.monotonic() + JOIN_TIMEOUT
    while (left := _ours(before)) and time.monotonic() < end:
        time.sleep(0.01)  # join() would refuse a thread that is only about to start
    assert not left, f"threads outlive the test that started them: {', '.join(thread.name for thread in left)}"


def _ours(before: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread not in before and thread.name.startswith(OUR_THREADS)]

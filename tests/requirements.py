"""Requirements of tests beside Python: without them tests are skipped with a reason, or fail where KAFKAWIRE_CI=1 is set."""

from __future__ import annotations

import functools
import importlib
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["CI", "missing", "peer", "require_java", "require_maven", "require_pyspark"]

CI = os.environ.get("KAFKAWIRE_CI") == "1"
"""True if all tests must run, heavy ones too, and a missing requirement is a failure."""

OLDEST_JAVA = 17


def missing(reason: str) -> NoReturn:
    """Skip the running test because of `reason`; fail it where nothing may be missing."""
    if CI:
        pytest.fail(f"{reason} (required, since KAFKAWIRE_CI=1)", pytrace=False)
    pytest.skip(reason)


def peer(module: str) -> ModuleType:
    """Another client's module, such as "confluent_kafka"; `make test` installs them all."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing(f"{module} cannot be imported: {error}")


def require_java() -> None:
    """Java 17 or later on the path."""
    problem = _java_problem()
    if problem:
        missing(problem)


def require_maven() -> None:
    """Maven on the path, which fetches the brokers' jars."""
    require_java()
    if shutil.which("mvn") is None:
        missing("Maven (mvn) is not on the PATH; it fetches the real brokers")


def require_pyspark() -> None:
    """PySpark and the Java that it runs on."""
    require_java()
    peer("pyspark")


@functools.cache
def _java_problem() -> str | None:
    java = shutil.which("java")
    if java is None:
        return f"Java {OLDEST_JAVA}+ (java) is not on the PATH"
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return f"Java {OLDEST_JAVA}+ is needed; {java} is {shown.splitlines()[0] if shown else 'silent'}"
    return None

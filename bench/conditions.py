"""Conditions of a measurement: the machine and the versions."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bench.cluster import BROKER, PARTITIONS

__all__ = ["conditions"]

PACKAGES = ["kafkawire", "confluent-kafka", "kafka-python", "aiokafka", "kio", "pyspark", "pyarrow", "numpy", "crc32c"]


def conditions(bootstrap: str | None) -> dict[str, str]:
    """Machine, Python and versions of the packages measured, as text."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
        "machine": f"{os.cpu_count()} cores, {_cpu()}, {platform.system()} {platform.release()}",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES) + _librdkafka(),
        "broker": f"the one at {bootstrap}"
        if bootstrap
        else f"Apache Kafka {BROKER}, default settings but for log.segment.delete.delay.ms; {_java()}",
        "topics": f"{PARTITIONS} partitions, replication 1, no compression",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _librdkafka() -> str:
    if find_spec("confluent_kafka") is None:
        return ""
    from confluent_kafka import libversion

    return f", librdkafka {libversion()[0]}"


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    found = re.search(r"model name\s*: (.*)", text)
    return found[1] if found else platform.processor() or platform.machine()


def _java() -> str:
    """The first line of `java -version`, which it writes to its standard error."""
    if shutil.which("java") is None:
        return "no Java"
    return subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]

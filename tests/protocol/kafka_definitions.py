"""Kafka's own message definitions, out of the jars of its Java client: the judge of our declarations."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

from tests import requirements
from tests.real.releases import NEWEST

__all__ = ["NEWEST", "OLDEST", "RELEASES", "broker_apis", "definition", "in_range", "jar"]

RELEASES = (NEWEST, "4.3.1", "3.9.1")
"""Newest first. Together they define every version that any broker speaks: Kafka 4.0 removed old versions (KIP-896)."""

OLDEST = RELEASES[-1]

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "kafkawire" / "jars"
MAVEN_TIMEOUT = 300


@functools.cache
def jar(artifact: str, version: str) -> Path:
    """The jar of `group:name`, fetched with Maven the first time; the test is skipped where there is no Maven."""
    name = artifact.partition(":")[2]
    found = CACHE / f"{name}-{version}.jar"
    if not found.exists():
        requirements.require_maven()
        CACHE.mkdir(parents=True, exist_ok=True)
        copy = [
            "mvn",
            "--batch-mode",
            "--quiet",
            "dependency:copy",
            f"-Dartifact={artifact}:{version}",
            f"-DoutputDirectory={CACHE}",
        ]
        done = subprocess.run(copy, cwd=CACHE, capture_output=True, text=True, timeout=MAVEN_TIMEOUT, check=False)
        if not found.exists():
            requirements.missing(f"Maven could not fetch {artifact}:{version}: {done.stdout[-500:]}")
    return found


@functools.cache
def definition(name: str, version: str, artifact: str = "kafka-clients") -> dict[str, Any] | None:
    """The definition of a message ("FetchRequest") in one Kafka version; None where it has none."""
    with zipfile.ZipFile(jar(f"org.apache.kafka:{artifact}", version)) as archive:
        try:
            text = archive.read(f"common/message/{name}.json").decode()
        except KeyError:
            return None
    parsed: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    return parsed if "fields" in parsed else None


@functools.cache
def names(version: str, artifact: str) -> frozenset[str]:
    """The definitions in a jar."""
    with zipfile.ZipFile(jar(f"org.apache.kafka:{artifact}", version)) as archive:
        paths = [Path(name) for name in archive.namelist()]
    return frozenset(path.stem for path in paths if path.parent.name == "message" and path.suffix == ".json")


def broker_apis(version: str) -> set[str]:
    """The APIs that brokers of a Kafka version offer to others than controllers."""
    requests = [name for name in names(version, "kafka-clients") if name.endswith("Request")]
    found = {name: definition(name, version) for name in requests}
    return {name.removesuffix("Request") for name, kafka in found.items() if kafka and "broker" in kafka["listeners"]}


def in_range(version: int, text: str) -> bool:
    """True if a version is in the range of Kafka's notation ("3", "0-13", "4+", "none")."""
    if text == "none":
        return False
    first, _, last = text.removesuffix("+").partition("-")
    return int(first) <= version and (text.endswith("+") or version <= int(last or first))

"""The Apache Kafka releases that the tests run against, and their jars: fetched once by Maven, kept outside the repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NEWEST", "RELEASES", "FetchError", "Release", "jars"]

FETCH_TIMEOUT = 540
"""Seconds for Maven, which downloads about 60 MB a release."""

COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafkawire</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>{version}</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""

DEPENDENCY = "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
EXCLUSION = "<exclusions><exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion></exclusions>"


class FetchError(Exception):
    """Maven could not bring a release's jars."""


@dataclass(frozen=True, slots=True)
class Release:
    """One release of the broker and what it needs to run."""

    version: str
    scala: str
    kraft: bool = False
    """True if it runs without ZooKeeper, which comes with the jars of older releases."""
    listeners: bool = True
    """True if it has listeners; before 0.9 it has one host and one port."""
    knows_no_brokers: bool = False
    """True if Metadata lists no broker before the first topic: the controller of 0.8 tells brokers of partitions only."""
    tools: str = ""
    """The release whose command-line tools serve it, where they are an artefact of their own: not each of these can be had."""
    extra: tuple[str, ...] = ()
    """More artefacts as group:artifact:version."""
    excluded: tuple[str, ...] = ()
    """Dependencies that the broker runs without, as group:artifact."""

    @property
    def asks_zookeeper(self) -> bool:
        """True if its tool for topics asks ZooKeeper; since 2.2 it can ask the broker, and since 3.0 nothing else."""
        return tuple(map(int, self.version.split("."))) < (2, 2)

    def pom(self) -> str:
        """The Maven project whose dependencies are this release."""
        own_tools = [f"org.apache.kafka:kafka-tools:{self.version}"] if self.tools == self.version else []
        excluded = "".join(EXCLUSION.format(*artefact.split(":")) for artefact in self.excluded)
        broker = DEPENDENCY.format("org.apache.kafka", f"kafka_{self.scala}", self.version, excluded)
        others = [DEPENDENCY.format(*artefact.split(":"), "") for artefact in [*self.extra, *own_tools]]
        return POM.format(version=self.version, dependencies="\n".join([broker, *others]))


# Up to Java 8 the JDK had jaxb, which 0.10 and 1.1 use.
JAXB = "javax.xml.bind:jaxb-api:2.3.1"
# Some releases bring an API for logs and no output.
LOG_OUTPUT = "org.slf4j:slf4j-simple:1.7.36"
# The broker of 4.4.0 names it, Maven does not have it, and nothing here needs it.
TOOLS_API = "org.apache.kafka:kafka-tools-api"
# ZooKeeper's client of 3.4.13 and 3.4.14 takes the form in which Java prints addresses since version 14 for a host name.
ZOOKEEPER = "org.apache.zookeeper:zookeeper:3.4.12"

RELEASES = {
    release.version: release
    for release in (
        Release("4.4.0", "2.13", kraft=True, tools="4.3.1", extra=(LOG_OUTPUT,), excluded=(TOOLS_API,)),
        Release("4.3.1", "2.13", kraft=True, tools="4.3.1", extra=(LOG_OUTPUT,)),
        Release("4.2.0", "2.13", kraft=True, tools="4.2.0", extra=(LOG_OUTPUT,)),
        Release("4.1.1", "2.13", kraft=True, tools="4.1.1", extra=(LOG_OUTPUT,)),
        Release("4.0.0", "2.13", kraft=True, tools="4.0.0", extra=(LOG_OUTPUT,)),
        Release("3.9.1", "2.13", kraft=True, tools="3.9.1"),
        Release("3.8.1", "2.13", kraft=True, tools="3.8.1"),
        Release("3.7.2", "2.13", kraft=True, tools="3.7.2"),
        Release("3.6.2", "2.13", kraft=True, extra=(LOG_OUTPUT,)),
        Release("3.5.2", "2.13", kraft=True, extra=(LOG_OUTPUT,)),
        Release("3.4.1", "2.13", kraft=True, extra=(LOG_OUTPUT,)),
        Release("3.3.2", "2.13", kraft=True, extra=(LOG_OUTPUT,)),
        Release("3.2.3", "2.13", extra=(LOG_OUTPUT,)),
        Release("3.1.2", "2.13", extra=(LOG_OUTPUT,)),
        Release("3.0.2", "2.13", extra=(LOG_OUTPUT,)),
        Release("2.8.2", "2.13", extra=(LOG_OUTPUT,)),
        Release("2.7.2", "2.13", extra=(LOG_OUTPUT,)),
        Release("2.6.3", "2.13", extra=(LOG_OUTPUT,)),
        Release("2.5.1", "2.13", extra=(LOG_OUTPUT,)),
        Release("2.4.1", "2.13", extra=(LOG_OUTPUT,)),
        Release("2.3.1", "2.12", extra=(LOG_OUTPUT, ZOOKEEPER)),
        Release("2.2.2", "2.12", extra=(LOG_OUTPUT, ZOOKEEPER)),
        Release("2.1.1", "2.12", extra=(LOG_OUTPUT, ZOOKEEPER)),
        Release("2.0.1", "2.12", extra=(LOG_OUTPUT, ZOOKEEPER)),
        Release("1.1.1", "2.12", extra=(JAXB, LOG_OUTPUT)),
        Release("1.0.2", "2.12", extra=(JAXB,)),
        Release("0.11.0.3", "2.11", extra=(JAXB,)),
        Release("0.10.2.2", "2.11", extra=(JAXB,)),
        Release("0.10.1.1", "2.11", extra=(JAXB,)),
        Release("0.10.0.1", "2.11", extra=(JAXB,)),
        Release("0.9.0.1", "2.11"),
        Release("0.8.2.2", "2.11", listeners=False, knows_no_brokers=True),
    )
}
"""One release of every version that clients may meet, newest first."""

NEWEST = next(iter(RELEASES))


def jars(release: Release) -> list[Path]:
    """A release's jars, from the cache or from Maven. Safe in several processes at once. Raises FetchError."""
    cache = _cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    directory = cache / release.version
    with (cache / f"{release.version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_complete(directory, release):
            _fetch(directory, release)
    return sorted(directory.glob("*.jar"))


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kafkawire" / "kafka"


def _is_complete(directory: Path, release: Release) -> bool:
    """The directory appears under its name when it is complete; another pom in it means that this table has changed."""
    pom = directory / "pom.xml"
    return pom.exists() and pom.read_text() == release.pom()


def _fetch(directory: Path, release: Release) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=f"{release.version}.", dir=directory.parent))
    try:
        pom = scratch / "pom.xml"
        pom.write_text(release.pom())
        command = [
            "mvn",
            "-B",
            "-q",
            "-f",
            str(pom),
            COPY_DEPENDENCIES,
            f"-DoutputDirectory={scratch}",
            "-DincludeScope=runtime",
        ]
        try:
            result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_TIMEOUT)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FetchError(f"Maven could not fetch Kafka {release.version}: {error}") from error
        if result.returncode != 0:
            raise FetchError(f"Maven could not fetch Kafka {release.version}:\n{(result.stdout + result.stderr)[-2000:]}")
        shutil.rmtree(directory, ignore_errors=True)
        scratch.rename(directory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

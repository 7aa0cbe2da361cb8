"""The clients: how each one's adapter is started, and what the client cannot do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.real.releases import NEWEST, RELEASES, FetchError, jars
from tests.requirements import missing, require_maven
from tests.scenarios.environments import go_program, node_modules, virtual_environment
from tests.scenarios.process import Adapter
from tests.scenarios.scenarios import OWNERS_STEPS, SCENARIOS, Scenario

__all__ = ["CLIENTS", "Client"]

ADAPTERS = Path(__file__).parent / "adapters"


@dataclass(frozen=True)
class Client:
    """A client library at one version."""

    command: Callable[[], list[str]]
    """Makes what the adapter needs, and returns the command without the bootstrap address. Skips where a tool is missing."""
    lacks: AbstractSet[str]
    """Calls and features that it has not, so that scenarios with them are left out."""

    @property
    def owners_steps(self) -> AbstractSet[str]:
        """Steps that the owner of the cluster does for the client."""
        return OWNERS_STEPS | self.lacks & {"create_topic"}

    def scenarios(self) -> list[Scenario]:
        """Scenarios that the client supports."""
        return [each for each in SCENARIOS if not each.needs & self.lacks]

    def start(self, bootstrap: str) -> Adapter:
        return Adapter([*self.command(), bootstrap])


def require_package(module: str) -> None:
    """Look without importing: it is the adapter that does."""
    if find_spec(module) is None:
        missing(f"{module} is not installed")


def module_of(script: str) -> list[str]:
    """Python's arguments for an adapter."""
    return ["-m", f"tests.scenarios.adapters.{script}"]


def python_with(module: str, script: str) -> Callable[[], list[str]]:
    """An adapter that runs in the tests' own environment."""

    def command() -> list[str]:
        require_package(module)
        return [sys.executable, *module_of(script)]

    return command


def java(release: str) -> Callable[[], list[str]]:
    """Kafka's Java client; its jars are among those of the broker."""

    def command() -> list[str]:
        require_maven()
        require_package("py4j")
        try:
            class_path = os.pathsep.join(map(str, jars(RELEASES[release])))
        except FetchError as error:
            missing(str(error))
        return [sys.executable, *module_of("run_java"), class_path]

    return command


def node(script: str, packages: dict[str, str]) -> Callable[[], list[str]]:
    """An adapter in JavaScript, with the packages that it requires."""

    def command() -> list[str]:
        modules = node_modules(Path(script).stem, packages)
        return ["env", f"NODE_PATH={modules}", "node", str(ADAPTERS / script)]

    return command


def go(directory: str) -> Callable[[], list[str]]:
    """An adapter in Go."""
    return lambda: [str(go_program(directory, ADAPTERS / directory))]


def old_kafka_python(api_version: str) -> Client:
    """kafka-python of 2019, told what broker it has. It can do what that broker can, and has no admin worth the name."""

    def command() -> list[str]:
        python = virtual_environment("kafka-python-1.4.7", OLD_KAFKA_PYTHON)
        return [str(python), *module_of("run_kafka_python_147"), api_version]

    version = tuple(map(int, api_version.split(".")))
    can = {"produce", "consume", "watermarks", "commit", "committed"}
    can |= {"none", "gzip", "snappy", "auto-creation", "offset metadata"}
    if version >= (0, 9):
        can |= {"join", "settle", "received", "commit_position", "leave", "roundrobin"}
    if version >= (0, 10, 0):
        can |= {"timestamps", "lz4"}
    if version >= (0, 10, 1):
        can |= {"offset_for_time", "create_topic"}
    if version >= (0, 11):
        can |= {"record headers"}
    return Client(command, ALL - can)


ALL = frozenset[str]({"create_topic"}.union(*(scenario.needs for scenario in SCENARIOS)))
"""Every call and feature."""

OLD_KAFKA_PYTHON = ("kafka-python==1.4.7", "python-snappy==0.7.3", "lz4==4.4.5", "xxhash==3.5.0")

CLIENTS = {
    "confluent-kafka": Client(python_with("confluent_kafka", "run_confluent"), {"delete_offsets"}),
    "kafka-python": Client(python_with("kafka", "run_kafka_python"), {"cooperative", "errors of describe_configs"}),
    "aiokafka": Client(
        python_with("aiokafka", "run_aiokafka"),
        {"cooperative", "max_timestamp", "delete_offsets", "delete_group", "alter_configs", "looking makes no topic"},
    ),
    "java": Client(java(NEWEST), {"replace_configs"}),
    "kafkajs": Client(
        node("run_kafkajs.js", {"kafkajs": "2.2.4", "snappyjs": "0.7.0", "lz4js": "0.2.0", "zstd-codec": "0.1.5"}),
        {"roundrobin", "cooperative", "static", "offset_for_time", "max_timestamp"}
        | {"alter_configs", "delete_offsets", "offset metadata"},
    ),
    "franz-go": Client(go("kgo"), {"replace_configs", "max_timestamp"}),
}
"""By name."""

OLD_CLIENTS = {version: old_kafka_python(version) for version in ("0.8.2", "0.9", "0.10.0", "0.10.1", "0.10.2", "0.11", "1.0")}
"""kafka-python 1.4.7 by the version of the broker."""

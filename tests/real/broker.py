"""A real Apache Kafka broker of a chosen release on a free port of the loopback interface.

`python -m tests.real.broker --version 4.4.0` runs one until SIGINT or SIGTERM, and prints `bootstrap.servers=host:port` when it
is ready.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import signal
import socket
import struct
import tempfile
import threading
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.real.jvm import MEASURED_JVM, QUICK_JVM, JavaProcess, run_java
from tests.real.releases import NEWEST, RELEASES, jars

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RealKafka"]

HOST = "127.0.0.1"
START_TIMEOUT = 90
"""Seconds for a broker on a busy small machine; a few are usual."""
PROBE_TIMEOUT = 5

# Releases with log4j 1 take it from here, the others log to the same stream by default.
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""

# One broker is its own replica set, and consumers in a group need not wait for company.
SINGLE_BROKER = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    # The cleaner's default is a quarter of the heap that tests give.
    "log.cleaner.dedupe.buffer.size": 16 << 20,
}


class RealKafka:
    """A broker in a process of its own, with ZooKeeper in another where the release needs it.

    `config` is broker properties, with underscores for dots: `RealKafka("4.4.0", num_partitions=6)`. As a context manager it
    starts on entry, and on exit ends and removes its data; `stop()` or `kill()`, and `start()`, in between keep data and port.
    `joins` makes it the second broker of that one's cluster, from 3.3 on; it is to start after it and to end before.
    Raises FetchError if Maven cannot bring the jars, StartError if the broker does not come up.
    """

    def __init__(
        self, version: str, *, joins: RealKafka | None = None, jvm: Sequence[str] = QUICK_JVM, **config: object
    ) -> None:
        self.version = version
        self._release = RELEASES[version]
        self._jvm = jvm
        self._jars = jars(self._release)
        self._directory = Path(tempfile.mkdtemp(prefix=f"kafka-{version}-"))
        self._ports = _free_ports(2)  # the second is the controller's, or ZooKeeper's
        self._running: list[JavaProcess] = []
        self._controller = joins or self
        self._cluster_id: str = joins._cluster_id if joins else _new_id()  # noqa: SLF001 - of this class
        (self._directory / "log4j.properties").write_text(LOG4J)
        own = {name.replace("_", "."): value for name, value in config.items()}
        _write_properties(self._directory / "server.properties", {**self._broker_properties(), **SINGLE_BROKER, **own})
        _write_properties(self._directory / "zookeeper.properties", self._zookeeper_properties())

    @property
    def bootstrap(self) -> str:
        """host:port."""
        return f"{HOST}:{self._ports[0]}"

    @property
    def log_directory(self) -> Path:
        """Directory that has the directories of the partitions."""
        return self._directory / "data"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the processes and return when the broker is ready: when it answers a Metadata request with itself in it."""
        if self._release.kraft:
            self._format_storage()
        else:
            self._launch("zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper.properties")
        broker = self._launch("kafka", "kafka.Kafka", "server.properties")
        if self._release.knows_no_brokers:
            broker.wait_until(lambda: broker.has_logged("started (kafka.server.KafkaServer)"), START_TIMEOUT)
        else:
            broker.wait_until(lambda: _known_brokers(self._ports[0]) > 0, START_TIMEOUT)

    def stop(self) -> None:
        """End the processes in good order and wait for them: a restart finds its log directory unlocked."""
        while self._running:
            self._running[-1].stop()
            self._running.pop()

    def kill(self) -> None:
        """End the processes at once, as a crash would; a restart finds what was written."""
        while self._running:
            self._running[-1].kill()
            self._running.pop()

    def close(self) -> None:
        """End it and remove the data. A second call does nothing."""
        self.kill()  # nobody will read what an orderly shutdown would save
        shutil.rmtree(self._directory, ignore_errors=True)

    def create_topic(self, name: str, partitions: int = 1, **config: object) -> None:
        """Create a topic with the broker's own tool, since before 0.10.1 no request does it. Takes the seconds of a JVM."""
        arguments = ["--create", "--topic", name, "--partitions", str(partitions), "--replication-factor", "1"]
        for key, value in config.items():
            arguments += ["--config", f"{key.replace('_', '.')}={value}"]
        main = "org.apache.kafka.tools.TopicCommand" if self._release.tools else "kafka.admin.TopicCommand"
        if self._release.asks_zookeeper:
            self.run(main, "--zookeeper", f"{HOST}:{self._ports[1]}", *arguments)
        else:
            self.run(main, "--bootstrap-server", self.bootstrap, *arguments)

    def run(self, main: str, *arguments: str) -> str:
        """Run a command-line class of this release, or of the one whose tools serve it, and return its output."""
        tools = self._release.tools
        return run_java(main, *arguments, jars=jars(RELEASES[tools]) if tools else self._jars, cwd=self._directory)

    def _launch(self, name: str, main: str, properties: str) -> JavaProcess:
        log = self._directory / f"{name}.log"
        process = JavaProcess(f"{name} {self.version}", main, properties, jars=self._jars, log=log, options=self._jvm)
        self._running.append(process)
        return process

    def _broker_properties(self) -> dict[str, object]:
        port, second_port = self._ports
        common: dict[str, object] = {"log.dirs": self._directory / "data"}
        if self._release.kraft:
            alone = self._controller is self
            return common | {
                "node.id": 1 if alone else 2,
                "process.roles": "broker,controller" if alone else "broker",
                "controller.quorum.voters": f"1@{HOST}:{self._controller._ports[1]}",  # noqa: SLF001 - of this class
                "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://{HOST}:{port}" + (f",CONTROLLER://{HOST}:{second_port}" if alone else ""),
            }
        common |= {"broker.id": 1, "zookeeper.connect": f"{HOST}:{second_port}", "zookeeper.connection.timeout.ms": 60_000}
        if not self._release.listeners:
            return common | {"host.name": HOST, "port": port}
        return common | {"listeners": f"PLAINTEXT://{HOST}:{port}"}

    def _zookeeper_properties(self) -> dict[str, object]:
        return {
            "dataDir": self._directory / "zookeeper",
            "clientPort": self._ports[1],
            "clientPortAddress": HOST,
            "admin.enableServer": "false",
        }

    def _format_storage(self) -> None:
        if (self._directory / "data").exists():
            return
        # With "=", since an id may begin with a dash.
        arguments = ("format", f"--cluster-id={self._cluster_id}", "--config=server.properties")
        run_java("kafka.tools.StorageTool", *arguments, jars=self._jars, cwd=self._directory)


def _new_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()


def _write_properties(path: Path, properties: dict[str, object]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


def _free_ports(count: int) -> list[int]:
    """Ports free at this moment; held together so that they differ."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _known_brokers(port: int) -> int:
    """Number of brokers in a Metadata v0 response, a version that every release serves; 0 without a response."""
    request = struct.pack(">hhih5si", 3, 0, 1, 5, b"probe", 0)
    try:
        with socket.create_connection((HOST, port), PROBE_TIMEOUT) as connection, connection.makefile("rb") as stream:
            connection.sendall(struct.pack(">i", len(request)) + request)
            (size,) = struct.unpack(">i", stream.read(4))
            _, brokers = struct.unpack_from(">ii", stream.read(size))
    except (OSError, struct.error):
        return 0
    return int(brokers)


def main() -> None:
    """Run one broker for other programs, such as the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.broker", description=__doc__)
    parser.add_argument("--version", choices=RELEASES, default=NEWEST)
    parser.add_argument(
        "--measured", action="store_true", help="give the JVM what a benchmark should: 1 GB, G1, all of the compiler"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="PROPERTY=VALUE", help="a broker property; may be repeated"
    )
    options = parser.parse_args()

    # A flag, not an exception: one raised between the start of a process and its bookkeeping would leave it behind.
    told_to_stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_stop.set())
    config = dict(setting.split("=", 1) for setting in options.set)
    with RealKafka(options.version, jvm=MEASURED_JVM if options.measured else QUICK_JVM, **config) as broker:
        print(f"bootstrap.servers={broker.bootstrap}", flush=True)
        told_to_stop.wait()


if __name__ == "__main__":
    main()

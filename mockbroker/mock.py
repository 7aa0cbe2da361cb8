"""`MockCluster`: a Kafka cluster on TCP for tests, with its brokers, topics, groups, faults, journal and clock."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from kafkawire.addresses import format_address
from kafkawire.errors import broker_error
from kafkawire.message import Header, Message, TopicPartition
from mockbroker import data
from mockbroker.arguments import Int32, check_argument
from mockbroker.broker.services import ClusterServices
from mockbroker.configs.values import ConfigText, as_text
from mockbroker.drive.addresses import check_port
from mockbroker.drive.clock import MockClock
from mockbroker.drive.cluster_time import ClusterTime
from mockbroker.drive.loop import IoLoop
from mockbroker.drive.server import Server
from mockbroker.observe.fault import Fault
from mockbroker.observe.fault_kinds import FaultMethods
from mockbroker.observe.observation import Observation
from mockbroker.profiles import LATEST
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics import NO_LEADER

if TYPE_CHECKING:
    import ssl

__all__ = ["MockBroker", "MockCluster"]

F = TypeVar("F", bound=Fault)


class MockBroker:
    """One broker of a running `MockCluster`. Thread-safe."""

    def __init__(self, cluster: Cluster, loop: IoLoop, server: Server, broker_id: int) -> None:
        self.id = broker_id
        self._cluster = cluster
        self._loop = loop
        self._server = server
        self._broker = cluster.brokers[broker_id]

    @property
    def host(self) -> str:
        return self._server.host

    @property
    def port(self) -> int:
        """Port that the broker listens on; a restart keeps it."""
        return self._server.ports.get(self.id, 0)

    @property
    def address(self) -> str:
        """Address as host:port that the broker listens on."""
        return format_address(self.host, self.port)

    @property
    def advertised(self) -> str:
        """Address as host:port that clients are told to connect to."""
        return format_address(self._broker.host, self._broker.port)

    def advertise(self, host: str, port: int) -> None:
        """Advertise another address, such as that of a proxy, until the cluster is started again.

        Raises TypeError, and ValueError for a number that is no port.
        """
        check_argument("host", host, str)
        check_argument("port", port, int)
        check_port(port)

        def tell() -> None:
            self._broker.host, self._broker.port = host, port

        self._loop.call(tell)

    @property
    def online(self) -> bool:
        return self._broker.online

    def stop(self) -> None:
        """Cut the broker's connections, refuse new ones, and move what it leads to other replicas. Idempotent."""
        self._loop.call(self._stop)

    def start(self) -> None:
        """Start the broker again on its port. Does nothing if it runs."""
        self._loop.call(self._start)

    def restart(self) -> None:
        """Stop and start the broker, with nothing in between."""
        self._loop.call(self._restart)

    def _restart(self) -> None:
        self._stop()
        self._start()

    def _stop(self) -> None:
        if self.online:
            self._cluster.stop_broker(self.id)
            self._server.close_broker(self.id)

    def _start(self) -> None:
        if not self.online:
            self._cluster.start_broker(self.id)
            self._server.open_broker(self.id)

    def __repr__(self) -> str:
        return f"<MockBroker {self.id} at {self.address}{'' if self.online else ', stopped'}>"


class MockCluster(FaultMethods):
    """Kafka cluster in this process. Use it as a context manager, or `start()` and `close()` it. Thread-safe.

    brokers: how many; their ids count from first_broker_id. topics: partitions by topic. version: the Kafka version to imitate,
    from "0.8.2" on. port: of the first broker, the others have the next ones, or one in port_step; 0 for free ports. host: the
    address to listen on.
    advertised_host: host that clients are told to connect to, if it is another; `MockBroker.advertise` changes the port too.
    racks: of the brokers, in turn. tls: a server-side context, for TLS on every port. config: broker configurations by Kafka's
    names. reassignment_seconds: how long partitions take to move to other replicas when a client asks for it.
    clock: "held" if time stands still except for `clock.advance`.

    The methods of `FaultMethods` (`fail`, `delay` ...) add faults, and `check_faults` asserts that each has fired; `journal`
    has the requests of clients; `clock` may be held and advanced. Refusals raise BrokerError with Kafka's code.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        version: str = LATEST,
        port: int = 0,
        port_step: int = 1,
        first_broker_id: int = 1,
        reassignment_seconds: float = 0.0,
        host: str = "127.0.0.1",
        advertised_host: str | None = None,
        racks: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        config: Mapping[str, ConfigText] | None = None,
        clock: Literal["running", "held"] = "running",
    ) -> None:
        if clock not in ("running", "held"):
            raise ValueError(f"clock={clock!r}: it has to be 'running' or 'held'")
        offset = time.time() - time.monotonic()
        self.cluster = cluster = Cluster(
            brokers,
            version=version,
            config=config,
            racks=racks,
            first_broker_id=first_broker_id,
            reassignment_seconds=reassignment_seconds,
            wall_clock_offset=offset,
        )
        """State of the cluster. Use `call` to touch it while the cluster runs."""
        for name, partitions in (topics or {}).items():
            cluster.create_topic(name, partitions)
        self._loop = loop = IoLoop(cluster.timers, ClusterTime(held=clock == "held"))
        self.call = loop.call
        self.clock = MockClock(loop, offset)
        observers = Observation(cluster, loop)
        services = ClusterServices(cluster, observers)
        self._server = Server(services, loop, host, port, tls, advertised_host, port_step)
        self.groups = services.groups
        """Groups with their committed offsets. Use `call` to touch them while the cluster runs."""
        self.brokers = {number: MockBroker(cluster, loop, self._server, number) for number in cluster.brokers}
        self.journal = observers.journal
        self.faults = observers.faults
        self.check_faults = observers.faults.check

    def _add_fault(self, fault: F) -> F:
        return self.faults.add(fault)

    def start(self) -> Self:
        """Start to listen. Raises OSError if a port is taken, ValueError if it is none."""
        self._server.start()
        return self

    def close(self) -> None:
        """Cut every connection and stop listening. Topics and journal stay readable. Idempotent."""
        self._server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, for bootstrap.servers of clients."""
        return ",".join(broker.address for broker in self.brokers.values())

    def create_topic(self, name: str, partitions: int = 1, *, replication_factor: int = -1, **configs: ConfigText) -> None:
        """Create a topic; configurations by Kafka's names with `_` for `.`: `max_message_bytes=1000`.

        A replication factor of -1 gives three replicas, or as many as there are brokers.
        """
        named = {key.replace("_", "."): as_text(value) for key, value in configs.items()}
        self.call(lambda: self.cluster.create_topic(name, partitions, replication_factor, configs=named))

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        self.call(lambda: self.cluster.delete_topic(name))

    def add_broker(self) -> MockBroker:
        """Add a broker with the next id. Partitions move to it only on request.

        Raises OSError if its port is taken.
        """

        def add() -> MockBroker:
            broker = self.cluster.add_broker()
            self._server.add_broker(broker)
            return MockBroker(self.cluster, self._loop, self._server, broker.id)

        added = self.call(add)
        self.brokers[added.id] = added
        return added

    def remove_broker(self, broker: int) -> None:
        """Remove a broker for good; others take its place as leader and replica. Raises ValueError for the last broker."""

        def remove() -> None:
            self.cluster.remove_broker(broker)
            self._server.remove_broker(broker)

        self.call(remove)
        del self.brokers[broker]

    def set_replicas(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """Give a partition other replicas, the preferred one first. The leader stays if it is among them."""
        self.call(lambda: self.cluster.replication.set_replicas(self.cluster.partition(topic, partition), brokers))

    def move_coordinator(self, group: str, broker: int) -> None:
        """Make a broker the coordinator of a group, and of all groups that the same partition keeps."""
        check_argument("group", group, str)
        self.call(lambda: self.cluster.move_coordinator(group, broker))

    def coordinator(self, group: str) -> int | None:
        """Id of the broker that coordinates a group; None if there is none."""
        check_argument("group", group, str)
        found = self.call(lambda: self.cluster.coordinator(group))
        return None if found is None else found.id

    def move_leader(self, topic: str, partition: int, broker: int | None) -> None:
        """Make a broker (by id) the leader of a partition; None leaves the partition without a leader."""
        self.call(lambda: self.cluster.move_leader(topic, partition, NO_LEADER if broker is None else broker))

    def leader(self, topic: str, partition: int) -> int | None:
        """Id of the broker that leads a partition; None if there is none."""
        leader = self.call(lambda: self.cluster.partition(topic, partition).leader)
        return None if leader == NO_LEADER else leader

    def produce(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Iterable[Header] = (),
    ) -> list[int]:
        """Append records as one batch, as a producer would, and return their offsets. Text is encoded as UTF-8.

        Without `partition` the key decides as in Java's client; without a key too, it is partition 0. `timestamp` is in
        milliseconds, now if None. Brokers before 0.11 keep no headers.
        """
        if not values:
            return []
        key_bytes, kept = _bytes(key), tuple(headers)
        batch = [data.Record(topic, _bytes(value), key_bytes, partition, timestamp, kept) for value in values]

        def append() -> list[int]:
            chosen = data.choose_partition(self.cluster, topic, key_bytes) if partition is None else partition
            return data.append_records(self.cluster, topic, chosen, batch, self.clock.now())

        return self.call(append)

    def messages(self, topic: str, partition: int | None = None) -> list[Message]:
        """Records of a topic or of one partition, by partition, then by offset."""
        return self.call(lambda: data.messages(self.cluster, topic, partition))

    def load(self, path: str | Path) -> int:
        """Create topics and append records from a file of JSON lines, as `dump` writes it. Returns the number of records.

        Raises ValueError for a line that cannot be understood, OSError.
        """
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return self.call(lambda: data.load(self.cluster, lines, self.clock.now()))

    def dump(self, path: str | Path) -> None:
        """Write every topic with its records to a file of JSON lines. Raises OSError."""
        with Path(path).open("w", encoding="utf-8") as file:
            self.call(lambda: data.dump(self.cluster, file))

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """Log end offset of a partition: the offset that its next record will get."""
        return self.call(lambda: self.cluster.partition(topic, partition).log.log_end_offset)

    def committed(self, group: str, topic: str, partition: int = 0) -> int | None:
        """Offset that a group has committed for a partition; None if there is none."""
        check_argument("group", group, str)
        check_argument("topic", topic, str)
        check_argument("partition", partition, Int32)
        found = self.call(lambda: self.groups.offsets.of_group(group).get(TopicPartition(topic, partition)))
        return None if found is None else found.offset

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit for a group without members, as a reset by an administrator does. Raises ValueError for a negative offset."""
        check_argument("group", group, str)
        check_argument("offset", offset, int)
        if offset < 0:
            raise ValueError(f"a group cannot commit offset {offset}")

        def commit() -> None:
            self.cluster.partition(topic, partition)  # raises for one that does not exist
            self.groups.commit(group, TopicPartition(topic, partition), offset, self.clock.now())

        self.call(commit)

    def delete_group(self, group: str) -> None:
        """Delete a group that has no members, with its offsets."""
        check_argument("group", group, str)

        def delete() -> None:
            error = self.groups.delete(group)
            if error is not None:
                raise broker_error(error, f"group {group!r} cannot be deleted: {error.text}")

        self.call(delete)

    def __repr__(self) -> str:
        return f"<MockCluster of Kafka {'.'.join(map(str, self.cluster.profile.version))} at {self.bootstrap}>"


def _bytes(text: bytes | str | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text

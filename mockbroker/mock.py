"""`MockCluster`: a Kafka cluster on TCP for a test, with what the test may do to it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Self

from kafkawire.message import Header, Message, TopicPartition
from kafkawire.protocol import records
from kafkawire.protocol.murmur2 import murmur2
from mockbroker.cluster import NO_LEADER, Cluster
from mockbroker.formats import re_encode
from mockbroker.profiles import LATEST
from mockbroker.server import Server
from mockbroker.validator import append

if TYPE_CHECKING:
    import ssl

    from kafkawire.protocol.wire import Buffer

__all__ = ["MockBroker", "MockCluster"]

# Versions of Produce that carry the one and the other.
_PRODUCE_MESSAGE_SET = 2
_PRODUCE_BATCH = 9


class MockBroker:
    """One broker of a running `MockCluster`. Any thread may call it."""

    def __init__(self, cluster: Cluster, server: Server, broker_id: int) -> None:
        self.id = broker_id
        self._cluster = cluster
        self._server = server
        self._broker = cluster.brokers[broker_id]

    @property
    def host(self) -> str:
        return self._broker.host

    @property
    def port(self) -> int:
        """The port stays the same when the broker is stopped and started."""
        return self._broker.port

    @property
    def address(self) -> str:
        """The two as host:port."""
        return _address(self.host, self.port)

    @property
    def online(self) -> bool:
        return self._broker.online

    def stop(self) -> None:
        """Cut its connections, refuse new ones, and move what it led to other replicas. Does nothing when it is stopped."""
        self._server.call(self._stop)

    def start(self) -> None:
        """Let it come back on the same port. Does nothing when it runs."""
        self._server.call(self._start)

    def restart(self) -> None:
        """Stop and start it, with nothing in between."""
        self._server.call(self._restart)

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


class MockCluster:
    """A Kafka cluster in this process. Use it as a context manager, or `start()` and `close()` it. Any thread may call it.

    brokers: how many; their ids count from 1. topics: partitions by topic. version: the Kafka version to imitate, from
    "0.8.2" on. port: of the first broker, the others have the next ones; 0 for free ports. host: the address to listen on and
    to advertise. tls: a server-side context, for TLS on every port. config: broker configurations by Kafka's names.

    `fail`, `delay`, `drop`, `disconnect`, `cut`, `corrupt` and `throttle` make faults (see `mockbroker.faults.Faults`);
    `journal` has what clients sent. Refusals raise BrokerError with Kafka's code.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        version: str = LATEST,
        port: int = 0,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        offset = time.time() - time.monotonic()
        self.cluster = cluster = Cluster(brokers, version=version, config=config, wall_clock_offset=offset)
        """The core. Use `call` to touch it while the cluster runs."""
        for name, partitions in (topics or {}).items():
            cluster.create_topic(name, partitions)
        self._server = Server(cluster, host, port, tls)
        self.call = self._server.call
        self.brokers = {number: MockBroker(cluster, self._server, number) for number in cluster.brokers}
        self.journal = cluster.journal
        self.faults = faults = cluster.faults
        self.fail, self.delay, self.drop, self.disconnect = faults.fail, faults.delay, faults.drop, faults.disconnect
        self.cut, self.corrupt, self.throttle = faults.cut, faults.corrupt, faults.throttle

    def start(self) -> Self:
        """Listen. Raises OSError if a port is taken."""
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
        """The addresses of all brokers, as clients take them in bootstrap.servers."""
        return ",".join(broker.address for broker in self.brokers.values())

    def create_topic(self, name: str, partitions: int = 1, *, replication_factor: int = -1, **configs: str | int) -> None:
        """Create a topic; configurations by Kafka's names with `_` for `.`: `max_message_bytes=1000`.

        A replication factor of -1 gives three replicas, or as many as there are brokers.
        """
        named = {key.replace("_", "."): str(value) for key, value in configs.items()}
        self.call(lambda: self.cluster.create_topic(name, partitions, replication_factor, configs=named))

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        self.call(lambda: self.cluster.delete_topic(name))

    def move_leader(self, topic: str, partition: int, broker: int | None) -> None:
        """Make a broker (by id) the leader of a partition; None leaves the partition without a leader."""
        self.call(lambda: self.cluster.move_leader(topic, partition, NO_LEADER if broker is None else broker))

    def leader(self, topic: str, partition: int) -> int | None:
        """The id of the broker that leads a partition."""
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
        return self.call(lambda: self._produce(topic, values, _bytes(key), partition, timestamp, tuple(headers)))

    def _produce(
        self,
        topic: str,
        values: tuple[bytes | str | None, ...],
        key: bytes | None,
        partition: int | None,
        timestamp: int | None,
        headers: tuple[Header, ...],
    ) -> list[int]:
        now_ms = self.cluster.wall_clock_ms(time.monotonic())
        if partition is None:
            partition = 0 if key is None else murmur2(key) % len(self.cluster.topic(topic).partitions)
        at = now_ms if timestamp is None else timestamp
        count = len(values)
        parts = records.encode_columns(
            [_bytes(value) for value in values], [key] * count, headers=[headers] * count, base_timestamp=at
        )
        data: Buffer = records.seal_batch(parts, count=count, base_timestamp=at, max_timestamp=at)
        magic, version = self.cluster.profile.magic, _PRODUCE_BATCH
        if magic < 2:
            data, version = re_encode(data, magic), _PRODUCE_MESSAGE_SET
        info = append(self.cluster.partition(topic, partition), data, version, magic, now_ms)
        return list(range(info.base_offset, info.base_offset + count))

    def messages(self, topic: str, partition: int | None = None) -> list[Message]:
        """What a topic or one of its partitions holds: by partition, then by offset."""
        return self.call(lambda: self._messages(topic, partition))

    def _messages(self, topic: str, partition: int | None) -> list[Message]:
        partitions = self.cluster.topic(topic).partitions
        chosen = partitions if partition is None else [self.cluster.partition(topic, partition)]
        found: list[Message] = []
        for one in chosen:
            stored = [batch for kept in one.log.batches(one.log.start) for batch in records.read_batches(kept.data)]
            found += records.messages(records.decode_columns(stored), topic, one.index)
        return found

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """The offset that the next record of a partition will get."""
        return self.call(lambda: self.cluster.partition(topic, partition).log.end)

    def committed(self, group: str, topic: str, partition: int = 0) -> int | None:
        """The offset that a group has committed for a partition."""
        found = self.call(lambda: self.cluster.groups.committed(group, TopicPartition(topic, partition)))
        return None if found is None else found.offset

    def __repr__(self) -> str:
        return f"<MockCluster of Kafka {'.'.join(map(str, self.cluster.profile.version))} at {self.bootstrap}>"


def _bytes(text: bytes | str | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

"""Clients that speak to the mock frame by frame: over TCP, and in memory under a clock that tests hold."""

from __future__ import annotations

import heapq
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.frames import ClientPeer, decode_response, request_frame
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker import Cluster, MemoryServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.protocol.schema import Request
    from kafkawire.protocol.wire import Buffer
    from mockbroker import MockBroker, MockCluster

TIMEOUT = 10.0
"""Seconds until a socket that should have had an answer fails the test."""


class Pending:
    """A request in flight."""

    def __init__(self, message: Request, version: int) -> None:
        self.cls = protocol.response(type(message).key)
        self.version = version
        self.frame: bytearray | None = None

    @property
    def done(self) -> bool:
        return self.frame is not None

    def result(self) -> Any:
        assert self.frame is not None, f"no answer to {self.cls.name} v{self.version}"
        return decode_response(self.cls, self.version, self.frame)


class RawClient:
    """Writes requests and takes answers apart; subclasses move the bytes."""

    def __init__(self) -> None:
        self._peer = ClientPeer()
        self.closed = False

    def write(self, data: bytes) -> None:
        raise NotImplementedError

    def call(self, message: Request, version: int, **options: Any) -> Any:
        """Send a request and return its answer."""
        raise NotImplementedError

    def frame(self, message: Request, version: int, *, client_id: str = "raw", replies: bool = True) -> tuple[Pending, bytes]:
        """Encode a request without sending it."""
        pending = Pending(message, version)
        return pending, b"".join(self._peer.request(request_frame(message, version, client_id), pending if replies else None))

    def send(self, message: Request, version: int, **options: Any) -> Pending:
        pending, data = self.frame(message, version, **options)
        self.write(data)
        return pending

    def take(self, data: bytes) -> None:
        while data:
            room = self._peer.get_buffer()
            size = min(len(room), len(data))
            room[:size] = data[:size]
            data = data[size:]
            for pending, frame in self._peer.received(size):
                pending.frame = frame


class TcpClient(RawClient):
    """A client over TCP whose calls block."""

    def __init__(self, broker: MockBroker) -> None:
        super().__init__()
        self.socket = socket.create_connection((broker.host, broker.port), TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def write(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> bytes:
        """Bytes that have come, or b"" if the broker closed the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self.closed = not data
        return data

    def call(self, message: Request, version: int, **options: Any) -> Any:
        pending = self.send(message, version, **options)
        while not pending.done:
            data = self.read()
            assert data, "the broker closed the connection"
            self.take(data)
        return pending.result()


def still_serves(mock: MockCluster, client: TcpClient) -> None:
    """Check that a client that is connected to a cluster with topic "t" gets its answers, and so does a new one."""
    assert client.call(MetadataRequest(topics=None), 12).topics[0].name == "t"
    with TcpClient(mock.brokers[1]) as new:
        assert new.call(MetadataRequest(topics=None), 12).topics[0].name == "t"


class ManualClock:
    """A clock that a test moves on, with timers."""

    def __init__(self) -> None:
        self._now = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def now(self) -> float:
        return self._now

    def at(self, when: float, call: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (max(when, self._now), self._count, call))

    def advance(self, seconds: float = 0.0) -> None:
        """Move time on and run the timers that are due."""
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            self._now, _, call = heapq.heappop(self._timers)
            call()
        self._now = end


class MemoryClient(RawClient):
    """A client in memory: an answer that the broker gives at once has come when `send` returns."""

    def __init__(self, mock: MemoryMock, broker: int) -> None:
        super().__init__()
        self.output = bytearray()
        """Every byte that the broker sent."""
        address = mock.cluster.brokers[broker]
        self._mock = mock
        self._connection = mock.server.accept(address.host, address.port, self._received, self._close)
        self.refused = self._connection is None

    def _received(self, data: bytes) -> None:
        self.output += data
        self.take(data)

    def _close(self) -> None:
        self.closed = True

    def write(self, data: bytes) -> None:
        assert self._connection is not None, "the connection was refused"
        self._connection.received(data)
        self._mock.clock.advance()

    def disconnect(self) -> None:
        assert self._connection is not None, "the connection was refused"
        self._connection.closed()

    def call(self, message: Request, version: int, **options: Any) -> Any:
        return self.send(message, version, **options).result()


class MemoryMock:
    """A cluster in memory with the clock that moves it."""

    def __init__(self, brokers: int = 1, *, topics: dict[str, int] | None = None, **options: Any) -> None:
        self.clock = ManualClock()
        self.cluster = Cluster(brokers, wall_clock_offset=1_700_000_000, **options)
        self.server = MemoryServer(self.cluster, self.clock)
        self.faults, self.journal, self.groups = self.server.faults, self.server.journal, self.server.groups
        for name, partitions in (topics or {}).items():
            self.cluster.create_topic(name, partitions)

    def client(self, broker: int = 1) -> MemoryClient:
        return MemoryClient(self, broker)

    def answer(self, data: bytes, broker: int = 1) -> tuple[bytes, bool]:
        """Send bytes on a new connection; return the bytes of the answer and whether the broker closed it."""
        output = bytearray()
        closed: list[bool] = []
        address = self.cluster.brokers[broker]
        connection = self.server.accept(address.host, address.port, output.extend, lambda: closed.append(True))
        assert connection is not None
        connection.received(data)
        return bytes(output), bool(closed)

    def topic_id(self, topic: str) -> bytes:
        return self.cluster.topic(topic).id

    def log(self, topic: str, partition: int = 0) -> Any:
        return self.cluster.partition(topic, partition).log


def batch(
    *values: bytes, key: bytes | None = b"key", timestamp: int = 1_000, codec: Codec = Codec.NONE, **options: Any
) -> bytearray:
    """A batch of format 2, its timestamps one millisecond apart."""
    timestamps = [timestamp + n for n in range(len(values))]
    parts = records.encode_columns(values, [key] * len(values), timestamps, base_timestamp=timestamp)
    return records.seal_batch(
        parts, count=len(values), base_timestamp=timestamp, max_timestamp=timestamps[-1], codec=codec, **options
    )


def produce_request(
    data: Buffer, *, topic: str = "t", topic_id: bytes = ZERO_UUID, partition: int = 0, acks: int = -1
) -> ProduceRequest:
    asked = ProduceRequest.TopicProduceData
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            asked(name=topic, topic_id=topic_id, partition_data=[asked.PartitionProduceData(index=partition, records=data)])
        ],
    )


def produced(response: ProduceResponse) -> Any:
    """The answer for the only partition."""
    ((answer,),) = [topic.partition_responses for topic in response.responses]
    return answer


def produce_code(client: RawClient, **options: Any) -> ErrorCode:
    """Produce a record b"v" and return the error code of the answer."""
    return ErrorCode.of(produced(client.call(produce_request(batch(b"v"), **options), 9)).error_code)


def fetch_request(
    offset: int = 0,
    *,
    topic: str = "t",
    topic_id: bytes = ZERO_UUID,
    partitions: Sequence[int] = (0,),
    partition_max_bytes: int = 1 << 20,
    **options: Any,
) -> FetchRequest:
    asked = FetchRequest.Topic
    wanted = [asked.Partition(partition=p, fetch_offset=offset, partition_max_bytes=partition_max_bytes) for p in partitions]
    return FetchRequest(
        **{"max_wait_ms": 0, "min_bytes": 1, **options}, topics=[asked(topic=topic, topic_id=topic_id, partitions=wanted)]
    )


def fetched(response: FetchResponse) -> Any:
    """The answer for the only partition."""
    ((answer,),) = [topic.partitions for topic in response.responses]
    return answer


def values_in(data: Buffer) -> list[bytes | None]:
    """The values of all records in fetched data."""
    return records.values(records.decode_columns(list(records.read_batches(data))))

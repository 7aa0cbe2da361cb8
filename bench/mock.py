"""The mock broker: how soon it is there and gone, and what one process of it, which uses one core, serves to plain sockets."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from bench.harness import Contender, Job, Row, Sample, Stopwatch
from kafkawire.protocol.frames import encode_frame
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.schema import Request
from tests.mockbroker.raw import batch, fetch_request, produce_request

__all__ = ["ROWS"]

CONNECTIONS = 10
IN_FLIGHT = 50
"""Requests that each connection sends before it reads."""

FETCH_VERSION, PRODUCE_VERSION = 11, 8
PRELOADED = 48
"""Batches of about a megabyte that a fetch brings: as many as a broker sends at once (fetch.max.bytes)."""

_SIZE = struct.Struct(">i")


def start(job: Job) -> Sample:
    from mockbroker import MockCluster

    watch = Stopwatch()
    with MockCluster(3):
        return Sample(job.count, watch.read())


def stop(job: Job) -> Sample:
    from mockbroker import MockCluster

    with ExitStack() as stack:
        mock = stack.enter_context(MockCluster(3))
        for broker in mock.brokers.values():
            stack.enter_context(socket.create_connection((broker.host, broker.port)))
        watch = Stopwatch()
        mock.close()
        return Sample(job.count, watch.read())


def init_producer_id(job: Job) -> Sample:
    return _requests(job, InitProducerIdRequest(transactional_id=None), 1)


def metadata(job: Job) -> Sample:
    return _requests(job, MetadataRequest(topics=[]), 9)


def fetch_nothing(job: Job) -> Sample:
    return _requests(job, fetch_request(min_bytes=0), FETCH_VERSION)


def produce(job: Job) -> Sample:
    return _requests(job, produce_request(batch(bytes(100))), PRODUCE_VERSION)


def fetch(job: Job) -> Sample:
    """Bytes of answers that bring what was put there before."""
    batches = [batch(os.urandom(1_000_000)) for _ in range(PRELOADED)]
    wanted = sum(map(len, batches))
    with _mock("--topic", "t:1") as address, socket.create_connection(address) as connection:
        for data in batches:
            _ask(connection, produce_request(data), PRODUCE_VERSION)
        request = encode_frame(fetch_request(max_bytes=wanted, partition_max_bytes=wanted), FETCH_VERSION, 1)
        received, room = 0, memoryview(bytearray(1 << 20))
        watch = Stopwatch()
        while received < job.count:
            connection.sendall(request)
            left = _SIZE.unpack(_receive(connection, 4))[0]
            received += left
            while left:
                left -= connection.recv_into(room[:left])
        return Sample(received, watch.read())


def connections(job: Job) -> Sample:
    """Each is opened and answered, and stays open."""
    with _mock() as address, ExitStack() as stack:
        watch = Stopwatch()
        held = [stack.enter_context(socket.create_connection(address)) for _ in range(job.count)]
        for connection in held:
            _ask(connection, MetadataRequest(topics=[]), 9)
        return Sample(job.count, watch.read())


def partitions(job: Job) -> Sample:
    """Topics with so many are created, not all at once (a controller refuses that), and described."""
    with _mock() as address, socket.create_connection(address) as connection:
        watch = Stopwatch()
        for name in ("one", "two"):
            topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=job.count // 2, replication_factor=1)
            _ask(connection, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        _ask(connection, MetadataRequest(topics=None), 9)
        return Sample(job.count, watch.read())


@contextmanager
def _mock(*arguments: str) -> Iterator[tuple[str, int]]:
    """A mock cluster of one broker in a process of its own: where it listens."""
    command = [sys.executable, "-m", "mockbroker", "--brokers", "1", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            host, port = process.stdout.readline().strip().partition("=")[2].split(":")
            yield host, int(port)
        finally:
            process.terminate()


def _requests(job: Job, message: Request, version: int) -> Sample:
    """The same request again and again, on some connections at once."""
    with _mock("--topic", "t:1") as address, ExitStack() as stack:
        open_all = partial(socket.create_connection, address)
        held = [stack.enter_context(open_all()) for _ in range(CONNECTIONS)]
        expected = [_ask(connection, message, version) * IN_FLIGHT for connection in held]
        frames = encode_frame(message, version, 1, "bench") * IN_FLIGHT
        rounds = -(-job.count // (CONNECTIONS * IN_FLIGHT))
        watch = Stopwatch()
        for _ in range(rounds):
            _round(held, frames, expected)
        return Sample(rounds * CONNECTIONS * IN_FLIGHT, watch.read())


def _round(held: Sequence[socket.socket], frames: bytes, expected: Sequence[int]) -> None:
    for connection in held:
        connection.sendall(frames)
    for connection, size in zip(held, expected, strict=True):
        _receive(connection, size)


def _ask(connection: socket.socket, message: Request, version: int) -> int:
    """Make one request; the bytes of its answer."""
    connection.sendall(encode_frame(message, version, 1, "bench"))
    (size,) = _SIZE.unpack(_receive(connection, 4))
    _receive(connection, size)
    return 4 + int(size)


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        parts.append(connection.recv(min(size, 1 << 20)))
        if not parts[-1]:
            raise EOFError("the broker closed the connection")
        size -= len(parts[-1])
    return b"".join(parts)


def _row(title: str, times: int, run: Callable[[Job], Sample], *, rate: bool = True, aim: float | None = None) -> Row:
    contender = Contender("mockbroker", run, "mockbroker", aim=aim)
    return Row("mock", title, Job(times), [contender], together=True, rate=rate)


ROWS = [
    _row("start of MockCluster(3)", 1, start, rate=False, aim=0.050),
    _row("stop of MockCluster(3)", 1, stop, rate=False, aim=0.020),
    _row("mock: requests for a producer id", 100_000, init_producer_id, aim=50_000),
    _row("mock: requests for no topic's metadata", 100_000, metadata, aim=50_000),
    _row("mock: fetches of nothing", 50_000, fetch_nothing),
    _row("mock: produce requests of one record", 50_000, produce),
    _row("mock: bytes of preloaded data fetched", 4_000_000_000, fetch, aim=500e6),
    _row("mock: a connection, opened, answered and held", 1_000, connections, rate=False),
    _row("mock: a partition, created and described", 10_000, partitions, rate=False),
]

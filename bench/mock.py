"""The mock broker: how soon it is there and gone, and what one process of it, which uses one core, serves to plain sockets."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice, repeat
from typing import NamedTuple

from bench.harness import Contender, Job, Row, Sample, Stopwatch
from kafkawire.protocol.frames import decode_response, encode_frame
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkawire.protocol.messages.join_group import JoinGroupResponse
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.schema import Request
from tests.mockbroker.groups import heartbeat, join, sync
from tests.mockbroker.raw import batch, fetch_request, produce_request

__all__ = ["ROWS"]

CONNECTIONS = 10
IN_FLIGHT = 50
"""Requests that each connection sends before it reads."""

FETCH_VERSION, PRODUCE_VERSION = 11, 8
PRELOADED = 48
"""Batches of about a megabyte in the log; a fetch of all is near the most that a broker sends at once (fetch.max.bytes)."""

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


def fetch(job: Job) -> Sample:
    """Bytes of answers that bring what was put there before, `size` or a little more in each."""
    batches = [batch(os.urandom(1_000_000)) for _ in range(PRELOADED)]
    with _mock("--topic", "t:1") as mock, socket.create_connection(mock.address) as connection:
        for data in batches:
            _ask(connection, produce_request(data), PRODUCE_VERSION)
        request = encode_frame(fetch_request(max_bytes=job.size, partition_max_bytes=job.size), FETCH_VERSION, 1)
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
    with _mock() as mock, ExitStack() as stack:
        watch = Stopwatch()
        held = [stack.enter_context(socket.create_connection(mock.address)) for _ in range(job.count)]
        for connection in held:
            _ask(connection, MetadataRequest(topics=[]), 9)
        return Sample(job.count, watch.read())


def partitions(job: Job) -> Sample:
    """Topics with so many are created, not all at once (a controller refuses that), and described."""
    with _mock() as mock, socket.create_connection(mock.address) as connection:
        watch = Stopwatch()
        for name in ("one", "two"):
            topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=job.count // 2, replication_factor=1)
            _ask(connection, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        _ask(connection, MetadataRequest(topics=None), 9)
        return Sample(job.count, watch.read())


def requests_on_one_core(job: Job) -> Sample:
    """By the broker's processor time: what it would serve if it had a core for itself and never waited."""
    return _requests(job, lambda mock: mock.processor_time, IN_FLIGHT)


def one_by_one_on_one_core(job: Job) -> Sample:
    """Requests of clients that wait for each answer, so that each request has system calls of its own."""
    return _requests(job, lambda mock: mock.processor_time, 1)


def requests_by_the_clock(job: Job) -> Sample:
    """With the client beside it on the same machine, which waits for the answers to all that it has sent."""
    return _requests(job, lambda mock: time.perf_counter, IN_FLIGHT)


class _Mock(NamedTuple):
    """A mock cluster of one broker in a process of its own."""

    pid: int
    address: tuple[str, int]

    def processor_time(self) -> float:
        """Seconds. Linux numbers the processor clocks of processes so: clock_getcpuclockid(3), which Python does not have."""
        return time.clock_gettime(~self.pid << 3 | 2)


@contextmanager
def _mock(*arguments: str) -> Iterator[_Mock]:
    command = [sys.executable, "-m", "mockbroker", "--brokers", "1", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            host, port = process.stdout.readline().strip().partition("=")[2].split(":")
            yield _Mock(process.pid, (host, int(port)))
        finally:
            process.terminate()


def _requests(job: Job, clock_of: Callable[[_Mock], Callable[[], float]], in_flight: int) -> Sample:
    """Requests of one kind, on some connections at once, so many on each before any answer is read."""
    rounds = -(-job.count // (CONNECTIONS * in_flight))
    with _mock("--topic", "t:1") as mock, ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(mock.address)) for _ in range(CONNECTIONS)]
        frames = [_FRAMES[job.message](connection, job.version) for connection in held]
        sizes = [len(_ask_frame(connection, next(each))) for connection, each in zip(held, frames, strict=True)]
        flights = [[b"".join(islice(each, in_flight)) for each in frames] for _ in range(rounds)]
        clock = clock_of(mock)
        begun = clock()
        for flight in flights:
            for connection, data in zip(held, flight, strict=True):
                connection.sendall(data)
            for connection, size in zip(held, sizes, strict=True):
                _receive(connection, (4 + size) * in_flight)
        return Sample(rounds * CONNECTIONS * in_flight, clock() - begun)


_Frames = Iterator[bytes]
"""The requests that one connection sends, one after the other without end."""


def _same(message: Request, version: int) -> _Frames:
    return repeat(encode_frame(message, version, 1, "bench"))


def _fetches(connection: socket.socket, version: int) -> _Frames:
    """Of nothing new, in a session."""
    opened = _ask(connection, fetch_request(min_bytes=0, session_epoch=0), version)
    session = decode_response(FetchResponse, version, opened).session_id
    epoch = 0
    while True:
        epoch += 1
        yield encode_frame(FetchRequest(max_wait_ms=0, session_id=session, session_epoch=epoch), version, 1, "bench")


def _heartbeats(connection: socket.socket, version: int) -> _Frames:
    """Of a member that is alone in its group."""
    group = f"group {connection.getsockname()[1]}"
    joined = decode_response(JoinGroupResponse, 5, _ask(connection, join(group), 5))
    _ask(connection, sync(group, joined.member_id, joined.generation_id), 3)
    return _same(heartbeat(group, joined.member_id, joined.generation_id), version)


_FRAMES: dict[str, Callable[[socket.socket, int], _Frames]] = {
    "ApiVersions": lambda _, version: _same(
        ApiVersionsRequest(client_software_name="bench", client_software_version="1"), version
    ),
    "Fetch": _fetches,
    "FindCoordinator": lambda _, version: _same(FindCoordinatorRequest(coordinator_keys=["group"]), version),
    "Heartbeat": _heartbeats,
    "InitProducerId": lambda _, version: _same(InitProducerIdRequest(transactional_id=None), version),
    "Metadata": lambda _, version: _same(MetadataRequest(topics=[MetadataRequest.Topic(name="t")]), version),
    "Produce": lambda _, version: _same(produce_request(batch(bytes(100)), acks=1), version),
}


def _ask(connection: socket.socket, message: Request, version: int) -> bytes:
    """Make one request; its answer."""
    return _ask_frame(connection, encode_frame(message, version, 1, "bench"))


def _ask_frame(connection: socket.socket, frame: bytes) -> bytes:
    connection.sendall(frame)
    (size,) = _SIZE.unpack(_receive(connection, 4))
    return _receive(connection, size)


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        parts.append(connection.recv(min(size, 1 << 20)))
        if not parts[-1]:
            raise EOFError("the broker closed the connection")
        size -= len(parts[-1])
    return b"".join(parts)


def _row(title: str, run: Callable[[Job], Sample], job: Job, *, rate: bool = False, aim: float | None = None) -> Row:
    return Row("mock", title, job, [Contender("mockbroker", run, "mockbroker", aim=aim)], together=True, rate=rate)


def _requests_row(what: str, api: str, version: int) -> Row:
    contenders = [
        Contender("processor time", requests_on_one_core, "mockbroker", aim=50_000),
        Contender("processor time, one by one", one_by_one_on_one_core, "mockbroker", share=0.2),
        Contender("clock", requests_by_the_clock, "mockbroker"),
    ]
    return Row("mock", f"mock: {what}", Job(100_000, message=api, version=version), contenders, together=True)


ROWS = [
    _row("start of MockCluster(3)", start, Job(1), aim=0.050),
    _row("stop of MockCluster(3)", stop, Job(1), aim=0.020),
    _requests_row("ApiVersions v4", "ApiVersions", 4),
    _requests_row("Metadata v12 of one topic", "Metadata", 12),
    _requests_row("Fetch v12 of nothing new in a session", "Fetch", 12),
    _requests_row("Produce v9 of one record, acks=1", "Produce", 9),
    _requests_row("FindCoordinator v4", "FindCoordinator", 4),
    _requests_row("Heartbeat v4", "Heartbeat", 4),
    _requests_row("InitProducerId v4", "InitProducerId", 4),
    _row("mock: bytes of preloaded data fetched, 1 MiB at once", fetch, Job(4_000_000_000, 1 << 20), rate=True, aim=500e6),
    _row("mock: bytes of preloaded data fetched, 48 MB at once", fetch, Job(4_000_000_000, 48_100_000), rate=True, aim=500e6),
    _row("mock: a connection, opened, answered and held", connections, Job(1_000)),
    _row("mock: a partition, created and described", partitions, Job(10_000)),
]

"""One small request and its answer, one after the other: Metadata of no topics, from a broker that is connected."""

from __future__ import annotations

import socket
import struct

from bench.harness import Contender, Job, Row, Sample, Stopwatch, Topic
from kafkawire.addresses import parse_address

__all__ = ["ROWS"]

WARM_UP = 200


def kafkawire(job: Job) -> Sample:
    from kafkawire import Connection
    from kafkawire.protocol.messages.metadata import MetadataRequest

    with Connection(job.bootstrap) as connection:
        broker = connection.brokers()[0].node_id
        for _ in range(WARM_UP):
            connection.request(MetadataRequest(topics=[]), broker=broker)
        watch = Stopwatch()
        for _ in range(job.count):
            connection.request(MetadataRequest(topics=[]), broker=broker)
        return Sample(job.count, watch.read())


def sockets(job: Job) -> Sample:
    """A hand-written client for this one request, in version 1: no version negotiation, no error handling."""
    with socket.create_connection(parse_address(job.bootstrap)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(WARM_UP):
            _metadata(connection, number)
        watch = Stopwatch()
        for number in range(job.count):
            _metadata(connection, number)
        return Sample(job.count, watch.read())


def _metadata(connection: socket.socket, number: int) -> tuple[int, str, int]:
    """The first broker: id, host, port."""
    connection.sendall(struct.pack(">ihhih5si", 19, 3, 1, number, 5, b"bench", 0))
    (size,) = struct.unpack(">i", _receive(connection, 4))
    answer = _receive(connection, size)
    correlation_id, _, node_id, length = struct.unpack_from(">iiih", answer)
    if correlation_id != number:
        raise ValueError(f"answer to {correlation_id}, not to {number}")
    (port,) = struct.unpack_from(">i", answer, 14 + length)
    return node_id, answer[14 : 14 + length].decode(), port


def _receive(connection: socket.socket, size: int) -> bytes:
    received = connection.recv(size)
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise EOFError("the broker closed the connection")
        received += more
    return received


ROWS = [
    Row(
        "rtt",
        "round trip of one request",
        Job(10_000),
        [Contender("kafkawire", kafkawire), Contender("hand-written sockets", sockets, aim=1.3)],
        Topic.ANY,
        rate=False,
    )
]

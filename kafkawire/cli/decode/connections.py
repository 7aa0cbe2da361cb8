"""TCP connections of a capture: puts segments in order, and reads the messages of both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from kafkawire.cli.decode.frames import Conversation, looks_like_request
from kafkawire.cli.decode.pcap import Segment
from kafkawire.cli.decode.values import Line
from kafkawire.errors import DecodeError, NotKafkaError

__all__ = ["connection_lines"]

MAX_AHEAD: Final = 16 * 1024 * 1024
"""Bytes kept of one direction while those before them are missing; beyond that the missing bytes are taken for lost."""

YEAR_10000: Final = 253_402_300_800
"""Seconds since the epoch; only a damaged capture has such times."""

HALF: Final = 1 << 31
ALL: Final = 1 << 32


def connection_lines(segments: Iterable[Segment]) -> Iterator[Line]:
    """Every request and response with the time at which its last byte was seen, in that order.

    A connection that is not Kafka in clear is one line with "skipped"; where bytes are missing or damaged there is a line with
    "error", and the rest of that connection is left out.
    """
    connections: dict[frozenset[str], Connection] = {}
    for segment in segments:
        ends = frozenset((segment.src, segment.dst))
        if ends not in connections or (segment.syn and not segment.ack):
            if ends in connections:
                yield from connections[ends].end()
            connections[ends] = Connection()
        yield from connections[ends].take(segment)
    for connection in connections.values():
        yield from connection.end()


class Direction:
    """One direction of a connection."""

    def __init__(self, next_seq: int | None = None) -> None:
        self.next_seq = next_seq
        self.ahead: dict[int, bytes] = {}

    @property
    def size_ahead(self) -> int:
        """Bytes that wait for those before them."""
        return sum(map(len, self.ahead.values()))

    def take(self, seq: int, payload: bytes) -> bytes:
        """Take a segment's bytes; the bytes that are next in order, as far as there are any."""
        if self.next_seq is None:
            self.next_seq = seq
        if len(payload) > len(self.ahead.get(seq, b"")):
            self.ahead[seq] = payload
        found = b""
        while (ready := self._ready()) is not None:
            data = self.ahead.pop(ready)
            data = data[(self.next_seq - ready) % ALL :]  # some of them may have come already
            found += data
            self.next_seq = (self.next_seq + len(data)) % ALL
        return found

    def _ready(self) -> int | None:
        """A waiting segment that begins at the next byte or before it."""
        next_seq = self.next_seq or 0
        return next((seq for seq in self.ahead if (next_seq - seq) % ALL < HALF), None)


class Connection:
    """One connection, from its first segment in the capture on."""

    def __init__(self) -> None:
        self._client: str | None = None
        self._directions: dict[str, Direction] = {}
        self._conversation = Conversation()
        self._start = b""
        """The client's first bytes, until they tell whether they are Kafka's."""
        self._is_kafka = False
        self._over = False
        self._last: Line = {}

    def take(self, segment: Segment) -> Iterator[Line]:
        """Take a segment; yields the messages that it completes."""
        self._last = _where(segment)
        if segment.syn:
            self._client = segment.dst if segment.ack else segment.src
            self._directions[segment.src] = Direction((segment.seq + 1) % ALL)
        elif segment.payload and not self._over and self._joins(segment):
            direction = self._directions.setdefault(segment.src, Direction())
            data = direction.take(segment.seq, segment.payload)
            if direction.size_ahead > MAX_AHEAD:
                yield from self.end()
            elif data:
                yield from self._read(segment, data)

    def end(self) -> Iterator[Line]:
        """End the connection: bytes that are still missing are lost."""
        lost = any(direction.ahead for direction in self._directions.values())
        if lost and self._is_kafka and not self._over:
            yield self._last | {"error": "bytes of this connection are missing in the capture"}
        self._over = True

    def _joins(self, segment: Segment) -> bool:
        """True if a direction whose beginning was not captured can be read from here on."""
        if segment.src in self._directions:
            return True
        if self._client is None and looks_like_request(segment.payload):
            self._client = segment.src
        return segment.src == self._client or (self._client is not None and self._conversation.expects(segment.payload))

    def _read(self, segment: Segment, data: bytes) -> Iterator[Line]:
        if segment.src == self._client and not self._is_kafka:
            self._start = data = self._start + data
            if len(data) < 14:
                return
            if not looks_like_request(data):
                self._over = True
                yield _where(segment) | {"skipped": "not Kafka, or encrypted"}
                return
            self._is_kafka = True
        if not self._is_kafka:
            return  # in Kafka the client speaks first
        try:
            lines = self._conversation.sent(data) if segment.src == self._client else self._conversation.answered(data)
            for line in lines:
                yield _where(segment) | line
        except (DecodeError, NotKafkaError) as error:
            self._over = True
            yield _where(segment) | {"error": str(error)}


def _where(segment: Segment) -> Line:
    known = 0 <= segment.time < YEAR_10000
    time = datetime.fromtimestamp(segment.time, UTC).isoformat(timespec="microseconds") if known else None
    return {"time": time, "src": segment.src, "dst": segment.dst}

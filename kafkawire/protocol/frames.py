"""One connection without IO: frames, correlation ids and the requests in flight, for both of its ends."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct as Packer
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.errors import DecodeError, NotKafkaError
from kafkawire.protocol.codec import decode, encode, encode_parts
from kafkawire.protocol.header import (
    RequestHeader,
    client_id_and_tags,
    read_request_header,
    response_tags,
    skip_response_header,
)
from kafkawire.protocol.messages import request
from kafkawire.protocol.schema import Request, Response

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = [
    "MAX_FRAME_SIZE",
    "ClientPeer",
    "RequestFrame",
    "RequestHeader",
    "ServerPeer",
    "decode_request",
    "decode_response",
    "encode_frame",
    "request_frame",
]

R = TypeVar("R", bound=Response)

MAX_FRAME_SIZE = 100 * 1024 * 1024
"""Bytes; Kafka's own limit for requests (socket.request.max.bytes)."""

BUFFER_SIZE = 64 * 1024
"""Bytes of the receive buffer. A larger frame gets a bytearray of its own and is received straight into it."""

_SIZE = Packer(">i")
_SIZE_AND_ID = Packer(">ii")
_REQUEST_START = Packer(">ihhi")
_LAST_ID = 0x7FFFFFFF


@dataclass(slots=True)
class RequestFrame:
    """A request without its correlation id, otherwise ready to be sent."""

    api_key: int
    api_version: int
    tail: list[Buffer]
    """Everything after the correlation id, in parts: the rest of the header, the body."""
    size: int
    """Bytes in `tail`."""


def request_frame(message: Request, version: int, client_id: str) -> RequestFrame:
    """Encode a request. Raises EncodeError, UnsupportedVersionError."""
    cls = type(message)
    first, *rest = encode_parts(message, version)
    tail: list[Buffer] = [client_id_and_tags(cls, version, client_id) + first, *rest]
    return RequestFrame(cls.key, version, tail, sum(map(len, tail)))


def decode_response(cls: type[R], version: int, frame: Buffer) -> R:
    """The message in a response frame: correlation id, header tags, body, without the size. Raises DecodeError."""
    return decode(cls, version, frame, skip_response_header(cls, version, frame))


def encode_frame(message: Request | Response, version: int, correlation_id: int, client_id: str = "") -> bytes:
    """A whole frame, its size first: a request from `client_id`, or a response. Raises EncodeError, UnsupportedVersionError.

    For tools; a connection has its peer, which numbers the requests and does not copy records.
    """
    cls = type(message)
    body = encode(message, version)
    if issubclass(cls, Request):
        start = _REQUEST_START.pack(0, cls.key, version, correlation_id)[4:] + client_id_and_tags(cls, version, client_id)
    else:
        start = _SIZE.pack(correlation_id) + response_tags(cls, version)
    return _SIZE.pack(len(start) + len(body)) + start + body


def decode_request(frame: Buffer) -> tuple[RequestHeader, Request]:
    """The header and the message of a request frame, which is without its size.

    Raises DecodeError, UnsupportedVersionError for a version that is not declared, KeyError for an API that is not.
    """
    header, start = read_request_header(frame)
    return header, decode(request(header.api_key), header.api_version, frame, start)


def size_error(size: int, limit: int) -> DecodeError | NotKafkaError:
    """The error for a size that no frame can have. First bytes of other protocols, read as a size, are recognised (trap 9)."""
    start = _SIZE.pack(size)
    if start in (b"HTTP", b"GET ", b"POST", b"HEAD", b"PUT "):
        return NotKafkaError("the other side speaks HTTP, not Kafka: check host and port")
    if start[:2] == b"\x15\x03":
        return NotKafkaError(
            "the other side answered with a TLS alert: its listener wants TLS, set security_protocol to SSL or SASL_SSL"
        )
    if start[:2] == b"\x16\x03":
        return NotKafkaError(
            "the other side began a TLS handshake on a listener without TLS: set its security_protocol to PLAINTEXT"
        )
    if size > limit and start.isascii() and start.decode().isprintable():
        return NotKafkaError(f"the other side answered with text that begins with {start.decode()!r}: it is not a Kafka broker")
    if size > limit:
        return DecodeError(f"a frame of {size} bytes is over the limit of {limit}")
    return DecodeError(f"a frame cannot have {size} bytes")


class ClientPeer:
    """The client's end of a connection.

    `request` may be called by any one thread at a time, beside the one reader that uses `get_buffer` and `received`.
    After an exception out of `received` other than an interrupt the stream is out of step and the connection must be closed.

    Interrupts: Python delivers KeyboardInterrupt after calls, at loops and at function entries, so it can come out of the
    middle of `received`, when the bytes have left the socket already. The reader then calls `received` again with the same
    number: up to its last statements `received` only computes, and those are plain stores, between which no interrupt comes.
    For the same reason an answered request is forgotten in the next call, not in the loop that finds its answer.
    """

    __slots__ = ("_answered", "_big", "_big_view", "_buffer", "_end", "_filled", "_last_id", "_limit", "_view", "_waiting")

    def __init__(self, max_frame_size: int = MAX_FRAME_SIZE) -> None:
        self._limit = max_frame_size
        self._last_id = -1
        self._waiting: dict[int, Any] = {}
        self._answered: frozenset[int] = frozenset()
        self._buffer = bytearray(BUFFER_SIZE)
        self._view = memoryview(self._buffer)
        self._end = 0
        self._big: bytearray | None = None
        self._big_view = self._view
        self._filled = 0

    def request(self, frame: RequestFrame, pending: object | None) -> list[Buffer]:
        """Give the request its correlation id; the parts to write. If `pending` is None no response comes (acks=0, trap 11)."""
        self._last_id = new_id = self._last_id + 1 & _LAST_ID
        start = _REQUEST_START.pack(8 + frame.size, frame.api_key, frame.api_version, new_id)
        if pending is not None:
            self._waiting[new_id] = pending
        return [start + frame.tail[0], *frame.tail[1:]]

    def get_buffer(self) -> memoryview:
        """A buffer for the next bytes, never empty. Fill any part of it, then call `received`."""
        return self._view[self._end :] if self._big is None else self._big_view[self._filled :]

    def received(self, count: int) -> list[tuple[Any, bytearray]]:
        """Take `count` bytes that were put into the buffer; the responses they complete, as (pending, frame without its size).

        Raises NotKafkaError for HTTP or TLS, DecodeError for an impossible size or an id that nothing waits for (trap 10).
        """
        for correlation_id in self._answered:
            self._waiting.pop(correlation_id, None)
        if self._big is not None:
            return self._received_big(self._big, count)
        found: dict[int, tuple[Any, bytearray]] = {}
        buffer, pos, end = self._buffer, 0, self._end + count
        while end - pos >= 4:
            size = _SIZE.unpack_from(buffer, pos)[0]
            if not 4 <= size <= self._limit:
                raise size_error(size, self._limit)
            after = pos + 4 + size
            if after > end:
                if size + 4 <= BUFFER_SIZE:
                    break
                return self._start_big(size, pos + 4, end, found)
            self._match(buffer[pos + 4 : after], found)
            pos = after
        responses = list(found.values())
        answered = frozenset(found)
        rest = buffer[pos:end]
        self._view[: end - pos] = rest
        self._end = end - pos
        self._answered = answered
        return responses

    def _start_big(
        self, size: int, start: int, end: int, found: dict[int, tuple[Any, bytearray]]
    ) -> list[tuple[Any, bytearray]]:
        """Go on in a bytearray of the frame's own, which begins with the bytes received so far."""
        big = bytearray(size)
        view = memoryview(big)
        view[: end - start] = self._view[start:end]
        responses = list(found.values())
        answered = frozenset(found)
        self._big = big
        self._big_view = view
        self._filled = end - start
        self._end = 0
        self._answered = answered
        return responses

    def _received_big(self, big: bytearray, count: int) -> list[tuple[Any, bytearray]]:
        found: dict[int, tuple[Any, bytearray]] = {}
        filled = self._filled + count
        if filled == len(big):
            self._match(big, found)
            responses = list(found.values())
            answered = frozenset(found)
            self._big = None
            self._big_view = self._view
        else:
            responses = []
            answered = frozenset()
        self._filled = filled
        self._answered = answered
        return responses

    def _match(self, frame: bytearray, found: dict[int, tuple[Any, bytearray]]) -> None:
        """Add a response to those found, with the pending that waits for it."""
        correlation_id = _SIZE.unpack_from(frame)[0]
        pending = self._waiting.get(correlation_id)
        if pending is None or correlation_id in found:
            raise DecodeError(f"a response with correlation id {correlation_id} came, which no request waits for")
        found[correlation_id] = pending, frame

    def forget(self, pending: object) -> None:
        """Forget a request that was never written, so that no response will come. A written one keeps its id (trap 12)."""
        for correlation_id, waiting in list(self._waiting.items()):
            if waiting is pending:
                self._waiting.pop(correlation_id, None)

    def end(self) -> None:
        """Drop an incomplete response: the connection is closed, but an error may keep this object alive."""
        self._big_view = self._view
        self._big = None

    def outstanding(self) -> list[Any]:
        """The pendings whose response has not come, oldest first."""
        answered = self._answered
        return [pending for correlation_id, pending in list(self._waiting.items()) if correlation_id not in answered]


class ServerPeer:
    """The broker's end of a connection, for one thread."""

    __slots__ = ("_limit", "_rest")

    def __init__(self, max_frame_size: int = MAX_FRAME_SIZE) -> None:
        self._limit = max_frame_size
        self._rest = bytearray()

    def received(self, data: bytes) -> list[tuple[RequestHeader, memoryview]]:
        """Take the next bytes; the requests that they complete, as (header, body).

        Raises NotKafkaError for HTTP or TLS, DecodeError for an impossible size or a malformed header: close the connection.
        """
        if self._rest:
            self._rest += data
            needed = 4 if len(self._rest) < 4 else 4 + self._checked_size(self._rest, 0)
            if len(self._rest) < needed:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        view, pos, found = memoryview(data), 0, []
        while len(data) - pos >= 4:
            after = pos + 4 + self._checked_size(data, pos)
            if after > len(data):
                break
            frame = view[pos + 4 : after]
            header, body = read_request_header(frame)
            found.append((header, frame[body:]))
            pos = after
        self._rest += view[pos:]
        return found

    def _checked_size(self, data: Buffer, pos: int) -> int:
        size: int = _SIZE.unpack_from(data, pos)[0]
        if not 10 <= size <= self._limit:
            raise size_error(size, self._limit)
        return size

    def response_frame(self, header: RequestHeader, message: Response, version: int) -> list[Buffer]:
        """A response as a frame. `version` is the response's own: KIP-511 answers ApiVersions of any version in version 0."""
        first, *rest = encode_parts(message, version)
        head = response_tags(type(message), version) + first
        size = 4 + len(head) + sum(map(len, rest))
        return [_SIZE_AND_ID.pack(size, header.correlation_id) + head, *rest]

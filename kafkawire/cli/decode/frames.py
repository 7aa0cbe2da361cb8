"""Request and response frames as lines, alone or as the two directions of a connection."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Packer
from typing import TYPE_CHECKING, Final

from kafkawire import protocol
from kafkawire.cli.decode.records import records_inside
from kafkawire.cli.decode.values import Line, readable
from kafkawire.errors import DecodeError, ErrorCode, KafkaError, UnsupportedVersionError
from kafkawire.protocol.frames import MAX_FRAME_SIZE, decode_response, size_error
from kafkawire.protocol.header import read_request_header
from kafkawire.protocol.messages import API_KEYS

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message
    from kafkawire.protocol.wire import Buffer

__all__ = ["Conversation", "looks_like_request", "request_line", "response_line", "split"]

SIZE: Final = Packer(">i")

NAMES: Final = {key: name for name, key in API_KEYS.items()}
API_VERSIONS: Final = API_KEYS["ApiVersions"]
SASL_HANDSHAKE: Final = API_KEYS["SaslHandshake"]
PRODUCE: Final = API_KEYS["Produce"]

HIGHEST_KEY, HIGHEST_VERSION = 1000, 50
"""Upper bounds on API keys and versions; bytes with higher ones are no request."""


def split(data: bytes) -> list[bytes]:
    """Split `data` into frames: each with its size before it, or else all of `data` as one frame without size."""
    frames = Frames()
    try:
        found = list(frames.received(data))
    except KafkaError:
        return [data]
    return found if found and not frames.left else [data]


def request_line(frame: Buffer) -> Line:
    """A request. Raises DecodeError for a malformed header; the reason for a missing body is under "error"."""
    header, start = read_request_header(frame)
    api, version = header.api_key, header.api_version
    line: Line = {
        "request": NAMES.get(api, api),
        "version": version,
        "correlationId": header.correlation_id,
        "clientId": header.client_id,
    }
    try:
        return line | _body(protocol.decode(protocol.request(api), version, frame, start), version)
    except KeyError:
        return line | _undeclared(api)
    except (DecodeError, UnsupportedVersionError) as error:
        return line | {"error": str(error)}


def response_line(api: int, version: int, frame: Buffer) -> Line:
    """A response to a request of that API and version. Raises DecodeError if there is no correlation id in it."""
    line: Line = {"response": NAMES.get(api, api), "version": version, "correlationId": _correlation_id(frame)}
    try:
        cls = protocol.response(api)
        if api == API_VERSIONS and int.from_bytes(frame[4:6], signed=True) == ErrorCode.UNSUPPORTED_VERSION:
            version = 0  # of any version asked for (KIP-511)
        return line | _body(decode_response(cls, version, frame), version)
    except KeyError:
        return line | _undeclared(api)
    except (DecodeError, UnsupportedVersionError) as error:
        return line | {"error": str(error)}


def looks_like_request(data: Buffer) -> bool:
    """True if a stream with this beginning is one of requests. 14 bytes are enough to tell."""
    if len(data) < 14:
        return False
    size = SIZE.unpack_from(data)[0]
    key, version = int.from_bytes(data[4:6], signed=True), int.from_bytes(data[6:8], signed=True)
    client_id = int.from_bytes(data[12:14], signed=True)
    return (
        8 <= size <= MAX_FRAME_SIZE and 0 <= key <= HIGHEST_KEY and 0 <= version <= HIGHEST_VERSION and -1 <= client_id < size
    )


class Frames:
    """Cuts one direction of a stream into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def left(self) -> int:
        """Bytes of a frame that is not complete."""
        return len(self._data)

    def received(self, data: bytes) -> Iterator[bytes]:
        """The frames that these bytes complete, without sizes. Raises DecodeError, NotKafkaError for an impossible size."""
        self._data += data
        while len(self._data) >= SIZE.size:
            size = SIZE.unpack_from(self._data)[0]
            if not 0 <= size <= MAX_FRAME_SIZE:
                raise size_error(size, MAX_FRAME_SIZE)
            end = SIZE.size + size
            if len(self._data) < end:
                return
            frame = bytes(self._data[SIZE.size : end])
            del self._data[:end]
            yield frame


class Conversation:
    """The two directions of a connection. Matches responses to requests, and hides SASL tokens."""

    def __init__(self) -> None:
        self._requests = Frames()
        self._responses = Frames()
        self._waiting: dict[int, tuple[int, int]] = {}
        self._tokens = False
        """After SaslHandshake v0 both sides send bare tokens, until a frame is a request again."""

    def sent(self, data: bytes) -> Iterator[Line]:
        """Take the client's next bytes; yields the messages they complete. Raises DecodeError or NotKafkaError."""
        for frame in self._requests.received(data):
            yield self._request(frame)

    def answered(self, data: bytes) -> Iterator[Line]:
        """Take the broker's next bytes; yields the messages they complete. Raises DecodeError or NotKafkaError."""
        for frame in self._responses.received(data):
            yield self._response(frame)

    def expects(self, data: bytes) -> bool:
        """True if a response with this beginning, size first, answers a request that was seen."""
        return len(data) >= 8 and SIZE.unpack_from(data, 4)[0] in self._waiting

    def _request(self, frame: bytes) -> Line:
        try:
            line = request_line(frame)
        except DecodeError:
            if not self._tokens:
                raise
            line = {"error": "no request"}
        if self._tokens and "error" in line:
            return {"request": "SASL token", "size": len(frame)}
        header, _ = read_request_header(frame)
        self._tokens = (header.api_key, header.api_version) == (SASL_HANDSHAKE, 0)
        if header.api_key != PRODUCE or line.get("body", {}).get("acks") != 0:  # with acks=0 nothing comes back (trap 11)
            self._waiting[header.correlation_id] = (header.api_key, header.api_version)
        return line

    def _response(self, frame: bytes) -> Line:
        asked = self._waiting.pop(_correlation_id(frame), None) if len(frame) >= SIZE.size else None
        if asked is not None:
            return response_line(*asked, frame)
        if self._tokens:
            return {"response": "SASL token", "size": len(frame)}
        return {"response": None, "correlationId": _correlation_id(frame), "error": "it answers no request that was captured"}


def _correlation_id(frame: Buffer) -> int:
    if len(frame) < SIZE.size:
        raise DecodeError(f"a response of {len(frame)} bytes has no correlation id", offset=0)
    found: int = SIZE.unpack_from(frame)[0]
    return found


def _body(message: Message, version: int) -> Line:
    return {"body": readable(message, version, records_inside)}


def _undeclared(api: int) -> Line:
    return {"error": f"the messages of API {api} are not declared"}

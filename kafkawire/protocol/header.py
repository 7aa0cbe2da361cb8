"""Request and response headers. API and version decide on a frame's header version, never the connection (trap 3)."""

from __future__ import annotations

import struct
from functools import cache
from math import inf
from struct import Struct as Packer
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import EncodeError
from kafkawire.protocol.messages import request
from kafkawire.protocol.wire import MAX_STRING, Malformed, decode_error, length_fault, unknown_tags

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message
    from kafkawire.protocol.wire import Buffer

__all__ = ["RequestHeader", "client_id_and_tags", "read_request_header", "response_tags", "skip_response_header"]

API_VERSIONS = 18
CONTROLLED_SHUTDOWN_V0 = (7, 0)
"""API key and version of the only request whose header ends after the correlation id; brokers before 0.9 sent it (trap 4)."""

_FIXED = Packer(">hhih")
_LENGTH = Packer(">h")
_FAULTS = (Malformed, struct.error, IndexError, UnicodeDecodeError)


class RequestHeader(NamedTuple):
    """Header of a request. Tagged fields in it are skipped: Kafka has none so far."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def is_flexible(cls: type[Message], version: int) -> bool:
    """True if a message has compact lengths and tagged fields in `version`."""
    since = cls.flexible
    return since is not None and version >= since


def client_id_and_tags(cls: type[Message], version: int, client_id: str) -> bytes:
    """The request header after the correlation id. The client id is never compact, whatever the header version (trap 1)."""
    name = client_id.encode()
    if len(name) > MAX_STRING:
        raise EncodeError(f"client_id has {len(name)} bytes, more than {MAX_STRING}")
    return _LENGTH.pack(len(name)) + name + (b"\0" if is_flexible(cls, version) else b"")


@cache
def response_tags(cls: type[Message], version: int) -> bytes:
    """The response header after the correlation id: an empty tag section or nothing.

    ApiVersions never has one, so that a client can read the answer whatever it asked for (trap 2).
    """
    return b"\0" if is_flexible(cls, version) and cls.key != API_VERSIONS else b""


def skip_response_header(cls: type[Message], version: int, frame: Buffer) -> int:
    """Index of the body in a response frame (correlation id, tag section if any, body)."""
    if not response_tags(cls, version):
        return 4
    try:
        return unknown_tags(frame, 4)[1] if frame[4] else 5
    except _FAULTS as fault:
        raise decode_error(cls.__name__, version, 4, fault) from None


def read_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """The header of a request frame, and where its body begins. An API that is not declared is taken for not flexible."""
    pos = 0
    try:
        api_key, version, correlation_id, length = _FIXED.unpack_from(frame)
        if (api_key, version) == CONTROLLED_SHUTDOWN_V0:
            return RequestHeader(api_key, version, correlation_id, None), _FIXED.size - _LENGTH.size
        pos = _FIXED.size
        if not -1 <= length <= len(frame) - pos:
            raise length_fault("client_id", length, len(frame) - pos)
        client_id = None if length < 0 else str(frame[pos : pos + length], "utf-8")
        pos += max(length, 0)
        if version >= _flexible_since(api_key):
            pos = unknown_tags(frame, pos)[1] if frame[pos] else pos + 1
    except _FAULTS as fault:
        raise decode_error("RequestHeader", 2, pos, fault) from None
    return RequestHeader(api_key, version, correlation_id, client_id), pos


@cache
def _flexible_since(api_key: int) -> float:
    """The first version of an API whose request header has tagged fields."""
    try:
        since = request(api_key).flexible
    except KeyError:
        since = None
    return inf if since is None else since

"""SASL tokens on the wire after SaslHandshake version 0: a 4-byte size and opaque bytes, until the exchange is over.

From version 1 on they are in SaslAuthenticate messages (KIP-152), and Kafka 4 serves nothing else (trap 120).
"""

from __future__ import annotations

from struct import Struct as Packer

from kafkawire.errors import DecodeError

__all__ = ["MAX_TOKEN_SIZE", "SaslTokens", "token_frame"]

MAX_TOKEN_SIZE = 512 * 1024
"""Bytes; Kafka's own limit before a client is authenticated (sasl.server.max.receive.size)."""

_SIZE = Packer(">i")


def token_frame(token: bytes) -> bytes:
    """A token as a frame. A token may be empty: so a broker says that PLAIN was accepted."""
    return _SIZE.pack(len(token)) + token


class SaslTokens:
    """One direction of a SASL exchange. Only SASL knows which token is the last, so tokens are taken one by one."""

    __slots__ = ("_data", "_limit")

    def __init__(self, max_token_size: int = MAX_TOKEN_SIZE) -> None:
        self._limit = max_token_size
        self._data = bytearray()

    def received(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._data += data

    def next(self) -> bytes | None:
        """The next token if all of it has come. Raises DecodeError for an impossible size: close the connection."""
        if len(self._data) < _SIZE.size:
            return None
        size = _SIZE.unpack_from(self._data)[0]
        if not 0 <= size <= self._limit:
            raise DecodeError(f"a SASL token of {size} bytes; 0 to {self._limit} are possible")
        end = _SIZE.size + size
        if len(self._data) < end:
            return None
        token = bytes(self._data[_SIZE.size : end])
        del self._data[:end]
        return token

    def rest(self) -> bytes:
        """Take the bytes behind the last token, for the peer that reads the frames from there on."""
        rest = bytes(self._data)
        self._data.clear()
        return rest

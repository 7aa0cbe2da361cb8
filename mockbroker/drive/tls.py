"""TLS on the broker's side of a connection, without IO: decrypts received bytes and encrypts bytes to send."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.protocol.wire import Buffer

__all__ = ["TlsStream"]

_READ_SIZE = 1 << 18


class TlsStream:
    """TLS state of one connection. context: a server-side context, which also says if the client needs a certificate."""

    __slots__ = ("_connected", "_incoming", "_object", "_outgoing", "ended")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._connected = False
        self.ended = False
        """True once the client has ended the TLS session or broken the protocol; there may be an alert to send."""

    def received(self, data: bytes) -> bytes:
        """Take bytes from the network and return the decrypted bytes."""
        self._incoming.write(data)
        plain = []
        try:
            if not self._connected:
                self._object.do_handshake()
                self._connected = True
            while part := self._object.read(_READ_SIZE):
                plain.append(part)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self.ended = True
        return b"".join(plain)

    def send(self, parts: Iterable[Buffer]) -> None:
        """Encrypt bytes; `outgoing` returns the result."""
        for part in filter(len, parts):
            self._object.write(part)

    def outgoing(self) -> bytes:
        """Return the bytes to write to the network: records, handshake messages, alerts."""
        return self._outgoing.read()

"""The last requests and answers as raw frames in a bounded ring, decoded only when somebody asks."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from kafkawire import protocol
from kafkawire.protocol import codegen
from kafkawire.protocol.codec import check_version
from kafkawire.protocol.frames import decode_response

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestHeader
    from kafkawire.protocol.wire import Buffer
    from mockbroker.call import Client

__all__ = ["Exchange", "Journal"]

_SMALL_BODY = 4096
"""Bodies up to this size are copied: a view would keep all that was received with it."""

_OVERHEAD = 256
"""Bytes that an exchange takes beside its body and answer, roughly."""


class Exchange:
    """One request, and its answer once there is one."""

    __slots__ = ("_body", "broker", "client", "header", "kept_bytes", "response_frame", "response_version", "time")

    def __init__(self, time: float, broker: int, client: Client, header: RequestHeader, body: memoryview) -> None:
        self.time = time
        """The cluster's `now` when the broker took the request up."""
        self.broker = broker
        self.client = client
        """The other end of the connection: `client.connection` is its number, `client.software_name` what it calls itself."""
        self.header = header
        self._body: Buffer = bytes(body) if len(body) <= _SMALL_BODY else body
        self.response_frame: list[Buffer] | None = None
        """The answer as it was sent, in parts, before a fault cut it off."""
        self.response_version = header.api_version
        self.kept_bytes = _OVERHEAD + len(body)
        """What it takes of the journal's size; 0 once it has left the journal."""

    @property
    def api(self) -> str:
        """Kafka's name of the API."""
        return protocol.request(self.header.api_key).name

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def client_id(self) -> str:
        return self.header.client_id or ""

    @property
    def request(self) -> Any:
        """The request (a `protocol.request(api)`), decoded anew each time. Raises DecodeError if it was malformed.

        Bytes behind it are ignored, as Kafka does: librdkafka's request for all topics has three too many.
        """
        cls = protocol.request(self.header.api_key)
        check_version(cls, self.version)
        request, _ = codegen.decoder(cls, self.version)(self._body, 0)
        return request

    @property
    def response(self) -> Any:
        """The answer (a `protocol.response(api)`), decoded anew each time; None where none was sent, or not yet."""
        if self.response_frame is None:
            return None
        cls = protocol.response(self.header.api_key)
        return decode_response(cls, self.response_version, b"".join(self.response_frame)[4:])

    def __repr__(self) -> str:
        return (
            f"<{self.api} v{self.version} from {self.client_id!r} to broker {self.broker}, connection {self.client.connection}>"
        )


class Journal:
    """The ring. Any thread may read it.

    exchanges, size: how many exchanges and bytes it keeps; older ones go first.
    """

    def __init__(self, exchanges: int = 10_000, size: int = 64 << 20) -> None:
        self._ring: deque[Exchange] = deque()
        self._most_exchanges = exchanges
        self._most_bytes = size
        self._bytes = 0
        self._changed = threading.Condition()
        self._waiters = 0

    def record(self, exchange: Exchange) -> None:
        """Add a request that a broker has taken up."""
        with self._changed:
            self._ring.append(exchange)
            self._bytes += exchange.kept_bytes
            self._shrink()
            if self._waiters:
                self._changed.notify_all()

    def answered(self, exchange: Exchange, frame: list[Buffer], version: int) -> None:
        """Keep the answer, a whole response frame, with its request."""
        with self._changed:
            exchange.response_frame = frame
            exchange.response_version = version
            if exchange.kept_bytes:
                size = sum(map(len, frame))
                exchange.kept_bytes += size
                self._bytes += size
                self._shrink()

    def _shrink(self) -> None:
        while self._bytes > self._most_bytes or len(self._ring) > self._most_exchanges:
            gone = self._ring.popleft()
            self._bytes -= gone.kept_bytes
            gone.kept_bytes = 0

    def requests(self, api: str | None = None, *, client_id: str | None = None, broker: int | None = None) -> list[Exchange]:
        """The requests of an API (by Kafka's name), a client or a broker, oldest first; each with its answer."""
        key = None if api is None else protocol.request(api).key
        with self._changed:
            kept = list(self._ring)
        return [
            exchange
            for exchange in kept
            if key in (None, exchange.header.api_key)
            and client_id in (None, exchange.client_id)
            and broker in (None, exchange.broker)
        ]

    def wait_for(
        self,
        api: str | None = None,
        *,
        count: int = 1,
        timeout: float = 10.0,
        client_id: str | None = None,
        broker: int | None = None,
    ) -> list[Exchange]:
        """Wait until `count` such requests have come, and return them. Raises AssertionError after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._changed:
            self._waiters += 1
            try:
                while True:
                    found = self.requests(api, client_id=client_id, broker=broker)
                    if len(found) >= count:
                        return found
                    if not self._changed.wait(deadline - time.monotonic()):
                        break
            finally:
                self._waiters -= 1
        wanted = f"{count} x {api or 'any request'}" + (f" from {client_id!r}" if client_id else "")
        seen = ", ".join(sorted({exchange.api for exchange in self.requests()})) or "nothing"
        raise AssertionError(f"within {timeout} s there came {len(found)} of {wanted}; the journal has {seen}")

    def clear(self) -> None:
        """Forget everything."""
        with self._changed:
            for exchange in self._ring:
                exchange.kept_bytes = 0
            self._ring.clear()
            self._bytes = 0

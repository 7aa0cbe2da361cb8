"""Exchange: one request that a broker took up, with its response. Kept as raw frames, decoded on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire import protocol
from kafkawire.errors import DecodeError
from kafkawire.protocol import codegen
from kafkawire.protocol.frames import decode_response

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestHeader
    from kafkawire.protocol.schema import Struct
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.client import Client

__all__ = ["Exchange"]

_SMALL_BODY = 4096
"""Bodies up to this size are copied: a view would keep the whole buffer that they were received in."""

_OVERHEAD = 256
"""Bytes that an exchange takes beside its body and response, roughly."""


class Exchange:
    """One request, and its response once there is one."""

    __slots__ = (
        "_body",
        "broker",
        "client",
        "header",
        "kept_bytes",
        "response_frame",
        "response_time",
        "response_version",
        "time",
    )

    def __init__(self, when: float, broker: int, client: Client, header: RequestHeader, body: memoryview) -> None:
        self.time = when
        """Time at which the broker took the request up: seconds since the epoch, on the cluster's clock."""
        self.broker: int = broker
        self.client: Client = client
        """Client of the connection: `client.connection` is the connection's number, `client.software_name` its own name."""
        self.header = header
        size = len(body)
        self._body: Buffer = bytes(body) if size <= _SMALL_BODY else body
        self.response_frame: list[Buffer] | None = None
        """Frame of the response before faults damaged it, in parts; None while there is none."""
        self.response_version = header.api_version
        self.response_time: float | None = None
        """Time of the response: seconds since the epoch."""
        self.kept_bytes = _OVERHEAD + size
        """Bytes that the exchange counts in the journal; 0 once it has left the journal."""

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
        """Request (a `protocol.request(api)`), decoded anew each time. Raises DecodeError if it is malformed.

        Bytes behind the message are ignored, as Kafka does: librdkafka's request for all topics has three too many.
        """
        decode = codegen.decoder(protocol.request(self.header.api_key), self.version)
        return decode(self._body, 0)[0]

    @property
    def response(self) -> Any:
        """Response (a `protocol.response(api)`), decoded anew each time; None if none was sent, or not yet."""
        if self.response_frame is None:
            return None
        cls = protocol.response(self.header.api_key)
        return decode_response(cls, self.response_version, b"".join(self.response_frame)[4:])

    @property
    def readable_request(self) -> Any:
        """Request; None if it is malformed."""
        try:
            return self.request
        except DecodeError:
            return None

    def to_dict(self) -> dict[str, Any]:
        """Exchange as JSON values, under Kafka's own names; secrets as ***, malformed messages as null."""
        return {
            "time": round(self.time, 6),
            "broker": self.broker,
            "connection": self.client.connection,
            "clientId": self.header.client_id,
            "clientSoftwareName": self.client.software_name,
            "clientSoftwareVersion": self.client.software_version,
            "api": self.api,
            "apiVersion": self.version,
            "correlationId": self.header.correlation_id,
            "request": _shown(self.readable_request),
            "responseTime": None if self.response_time is None else round(self.response_time, 6),
            "response": _shown(self.response),
        }

    def __repr__(self) -> str:
        return (
            f"<{self.api} v{self.version} from {self.client_id!r} to broker {self.broker}, connection {self.client.connection}>"
        )


def _shown(message: Struct | None) -> dict[str, Any] | None:
    return None if message is None else protocol.to_dict(message, secrets=False)

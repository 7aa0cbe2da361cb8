"""A connection to one broker after the handshake: the versions it speaks, and requests in the best of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from kafkawire.config import ConnectionOptions, TlsOptions
from kafkawire.errors import ConnectionLost, RequestTimedOut
from kafkawire.net.base import Link, Net, Pending, Signal, call
from kafkawire.protocol.frames import RequestFrame, decode_response, request_frame
from kafkawire.protocol.handshake import BEFORE_API_VERSIONS, Ranges, common_version, read_api_versions
from kafkawire.protocol.messages import response
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from kafkawire.protocol.schema import Request, Response
from kafkawire.version import __version__

__all__ = ["THROTTLED_BY_CLIENT", "Address", "BrokerLink", "Dialer"]

log = logging.getLogger("kafkawire.connection")

THROTTLED_BY_CLIENT = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2, 21: 1, 22: 1,
    24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1, 39: 1, 40: 1, 41: 1, 42: 1,
}  # fmt: skip
"""API key -> first version whose throttle time the client has to wait itself; before, the broker did (KIP-219, trap 112).

APIs that are not here are younger than that change.
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BrokerLink:
    """A link with the versions of its broker. Safe to use from any thread."""

    __slots__ = ("_client_id", "_net", "_versions", "address", "link", "muted_until", "ranges", "used_at")

    def __init__(self, net: Net, link: Link, address: Address, ranges: Ranges, client_id: str) -> None:
        self.link = link
        self.address = address
        self.ranges = ranges
        self.muted_until = 0.0
        self.used_at = net.now()
        """When the last request was sent."""
        self._net = net
        self._client_id = client_id
        self._versions: dict[tuple[int, int | None], int] = {}

    def version(self, request: type[Request], highest: int | None = None) -> int:
        """The version to speak; raises UnsupportedVersionError where there is none in common."""
        known = self._versions.get((request.key, highest))
        if known is None:
            known = self._versions[request.key, highest] = common_version(request, self.ranges, highest)
        return known

    def frame(self, message: Request, version: int) -> RequestFrame:
        """The message as a frame under this client's name."""
        return request_frame(message, version, self._client_id)

    def send(self, message: Request, version: int, signal: Signal | None) -> Pending:
        """Send without waiting; see `Link.send`."""
        self.used_at = self._net.now()
        return self.link.send(self.frame(message, version), signal)

    async def call(self, message: Request, deadline: float, highest: int | None = None) -> Any:
        """One request and its decoded response, after any pause that the broker asked for."""
        kind, net = type(message), self._net
        version = self.version(kind, highest)
        if self.muted_until > net.now():
            await net.wait(net.signal(), min(self.muted_until, deadline))
        self.used_at = net.now()
        frame = await call(net, self.link, self.frame(message, version), deadline)
        answer = decode_response(response(kind.key), version, frame)
        self.note_throttle(answer, kind.key, version, net.now())
        return answer

    def note_throttle(self, answer: Response, key: int, version: int, now: float) -> None:
        """Remember how long the broker wants to be left alone."""
        pause = getattr(answer, "throttle_time_ms", 0)
        if pause > 0 and version >= THROTTLED_BY_CLIENT.get(key, 0):
            self.muted_until = now + pause / 1000


class Dialer:
    """Opens connections and finds out what each broker speaks."""

    def __init__(self, net: Net, options: ConnectionOptions, tls: TlsOptions | None) -> None:
        self._net = net
        self._options = options
        self._tls = tls
        self._legacy: dict[Address, float] = {}

    async def open(self, address: Address, deadline: float) -> BrokerLink:
        """Connect and agree on versions; `deadline` is for all attempts together.

        Brokers before 0.10 either close the connection on ApiVersions or never answer it. A proxy, a starting broker or a bad
        network can look the same, so the verdict counts only if the broker then answers as an old one does: Kafka 4 would
        not. It is remembered for as long as metadata is.

        Raises ConnectError, NotKafkaError, ConnectionLost or RequestTimedOut.
        """
        version = ApiVersionsRequest.versions.max
        while self._legacy.get(address, 0.0) <= self._net.now():
            link = await self._connect(address, deadline)
            try:
                ranges = await self._negotiate(link, version, deadline)
            except ConnectionLost:
                link.close()
                if version == 0 and self._tls is not None:
                    # Brokers without ApiVersions came before TLS, or hang: this one refused the client's certificate.
                    raise
                if version == 0:
                    self._mark_legacy(address, "closes the connection on ApiVersions")
                version = 0
            except RequestTimedOut:
                link.close()
                self._mark_legacy(address, "does not answer ApiVersions")
            except BaseException:
                link.close()
                raise
            else:
                log.info("connected to %s", address)
                return BrokerLink(self._net, link, address, ranges, self._options["client_id"])
        link = await self._connect(address, deadline)
        broker = BrokerLink(self._net, link, address, BEFORE_API_VERSIONS, self._options["client_id"])
        try:
            await broker.call(ListOffsetsRequest(replica_id=-1), deadline)
        except BaseException:
            link.close()
            self._legacy.pop(address, None)
            raise
        log.info("connected to %s, which is older than 0.10", address)
        return broker

    async def _connect(self, address: Address, deadline: float) -> Link:
        setup = self._net.now() + self._options["socket_connection_setup_timeout_ms"] / 1000
        return await self._net.connect(address.host, address.port, self._tls, min(deadline, setup))

    async def _negotiate(self, link: Link, version: int, deadline: float) -> Ranges:
        patience = self._net.now() + self._options["api_version_auto_timeout_ms"] / 1000
        message = ApiVersionsRequest(client_software_name="kafkawire", client_software_version=__version__)
        while True:
            frame = request_frame(message, version, self._options["client_id"])
            answer = read_api_versions(await call(self._net, link, frame, min(deadline, patience)), version)
            if not isinstance(answer, int):
                return answer
            version = answer

    def _mark_legacy(self, address: Address, why: str) -> None:
        log.info("%s %s: taken for a broker older than 0.10", address, why)
        self._legacy[address] = self._net.now() + self._options["metadata_max_age_ms"] / 1000

"""A connection to one broker after the handshake: the versions it speaks, and requests in the best of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafkawire.config import ConnectionOptions, TlsOptions, tls_options
from kafkawire.core.cluster.backoff import Seldom
from kafkawire.errors import ConnectionLost, KafkaError, NetworkError, NotKafkaError, RequestTimedOut, TimedOut, TlsError
from kafkawire.net.base import HandshakeCut, Link, Net, Pending, Signal, call, sleep
from kafkawire.protocol.frames import RequestFrame, decode_response, request_frame
from kafkawire.protocol.handshake import BEFORE_API_VERSIONS, Ranges, common_version, read_api_versions
from kafkawire.protocol.messages import response
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from kafkawire.protocol.schema import Request, Response
from kafkawire.version import __version__

__all__ = ["THROTTLED_BY_CLIENT", "Address", "BrokerLink", "Connector"]

log = logging.getLogger("kafkawire.connection")

THROTTLED_BY_CLIENT = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2, 21: 1, 22: 1,
    24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1, 39: 1, 40: 1, 41: 1, 42: 1,
}  # fmt: skip
"""API key -> first version whose throttle time the client has to wait itself; before, the broker did (KIP-219, trap 112).

APIs that are not here are younger than that change.
"""

LONGEST_THROTTLE = 60.0
"""Seconds that one answer may keep this client away. Brokers reckon quotas over 11 windows of a second unless told otherwise
(quota.window.num, quota.window.size.seconds), and since KIP-219 they leave unread what a client sends too early: believing an
answer that asks for more gains nothing, and one that is wrong would end a client for good.
"""

THROTTLE_LOG_PAUSE = 60.0
"""Seconds between two lines about the same broker and API."""

VERDICT_PAUSE = 0.5
"""Seconds in which a broker's refusal of a certificate should have arrived."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BrokerLink:
    """A link with the versions of its broker. Safe to use from any thread."""

    __slots__ = ("_client_id", "_net", "_throttles", "_versions", "address", "link", "muted_until", "ranges", "used_at")

    def __init__(self, net: Net, link: Link, address: Address, ranges: Ranges, client_id: str, throttles: Seldom) -> None:
        self.link = link
        self.address = address
        self.ranges = ranges
        self.muted_until = 0.0
        self.used_at = net.now()
        """When the last request was sent."""
        self._net = net
        self._client_id = client_id
        self._throttles = throttles
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

    async def wait_out(self, deadline: float) -> None:
        """Wait as long as the broker asked to be left alone. Raises TimedOut if that is beyond the deadline."""
        if self.muted_until <= self._net.now():
            return
        await self._net.wait(self._net.signal(), min(self.muted_until, deadline))
        if self.muted_until > deadline:
            raise TimedOut(f"{self.address} throttles this client: it asked for a pause that is longer than the time given")

    async def call(self, message: Request, deadline: float, highest: int | None = None) -> Any:
        """One request and its decoded response.

        Raises RequestTimedOut, ConnectionLost, DecodeError, UnsupportedVersionError.
        """
        kind = type(message)
        version = self.version(kind, highest)
        self.used_at = self._net.now()
        frame = await call(self._net, self.link, self.frame(message, version), deadline)
        answer = decode_response(response(kind.key), version, frame)
        self.note_throttle(answer, kind, version, self._net.now())
        return answer

    def note_throttle(self, answer: Response, api: type[Request], version: int, now: float) -> None:
        """Remember how long the broker wants to be left alone, at most for LONGEST_THROTTLE, and say so now and then."""
        asked = getattr(answer, "throttle_time_ms", 0) / 1000
        if asked <= 0:
            return
        ours = version >= THROTTLED_BY_CLIENT.get(api.key, 0)
        if ours:
            self.muted_until = max(self.muted_until, now + min(asked, LONGEST_THROTTLE))
        left_out = self._throttles.count((self.address, api.key), now)
        if left_out is not None:
            how = f"waiting {min(asked, LONGEST_THROTTLE):g} s" if ours else "the answer was held back for so long"
            more = f"; {left_out} more such answers since the last line" if left_out else ""
            log.warning("%s throttles this client by %g s after %s (a quota): %s%s", self.address, asked, api.name, how, more)


class Connector:
    """Opens connections and finds out what each broker speaks.

    What it has found out is written by the connects that find it, and only ever spares a later one some steps.
    """

    def __init__(self, net: Net, options: ConnectionOptions) -> None:
        self._net = net
        self._options = options
        tls = tls_options(options)
        self._tls = None if tls is None else net.tls(tls)
        self._patience = options["api_version_auto_timeout_ms"] / 1000
        self._throttles = Seldom(THROTTLE_LOG_PAUSE)
        self._answered = False
        """Whether a broker of the cluster has answered ApiVersions: then none is taken for an older one, not even in a cluster
        that is in the middle of its upgrade from 0.9. A newer one that is slow must not get records in the old formats.
        """
        self._old_until: dict[Address, float] = {}
        """Until when a broker that has proved to be older than 0.10 is not asked again: for as long as metadata is kept."""

    async def open(self, address: Address, tell: Callable[[str], None]) -> BrokerLink:
        """Connect and agree on versions; `tell` is told what is being waited for.

        Each of the steps has a deadline of its own: socket_connection_setup_timeout_ms to connect,
        api_version_auto_timeout_ms for an answer. Raises ConnectError, TlsError, NotKafkaError, ConnectionLost,
        RequestTimedOut.
        """
        try:
            return await self._open(address, tell)
        except (ConnectionLost, HandshakeCut) as error:
            if self._answered:
                raise
            tell("finding out why it hangs up")
            advice = await (self._speaks_tls(address) if self._tls is None else self._speaks_plaintext(address))
            if advice is None:
                raise
            raise NotKafkaError(f"{address}: {advice}") from error

    async def _open(self, address: Address, tell: Callable[[str], None]) -> BrokerLink:
        until = self._old_until.pop(address, 0.0)
        if until > self._net.now():
            old = await self._open_old(address, tell)
            self._old_until[address] = until
            return old
        modern = await self._open_modern(address, tell)
        if modern is not None:
            return modern
        old = await self._open_old(address, tell)
        try:
            # What was silent or hung up before may have been no broker yet, or cut off: it may answer by now.
            modern = await self._open_modern(address, tell)
        except BaseException:
            old.link.close()
            raise
        if modern is not None:
            old.link.close()
            return modern
        log.info("connected to %s, which is older than 0.10", address)
        self._old_until[address] = self._net.now() + self._options["metadata_max_age_ms"] / 1000
        return old

    async def _open_modern(self, address: Address, tell: Callable[[str], None]) -> BrokerLink | None:
        """Connect and ask for versions; None if the broker behaves as those before 0.10 do, and it may be one.

        Those either close the connection on ApiVersions or never answer it. Some newer services close it on versions that they
        do not know (trap 6), so version 0 is tried before they are believed.
        """
        lost: ConnectionLost | None = None
        for version in (ApiVersionsRequest.versions.max, 0):
            link = await self._connect(address, self._tls, tell)
            tell(f"connected, but no answer to {ApiVersionsRequest.name}")
            try:
                if lost is not None and self._tls is not None:
                    # In TLS 1.3 the broker's verdict on our certificate comes after the handshake. What is sent before it
                    # can have the connection reset, and the verdict lost.
                    await sleep(self._net, VERDICT_PAUSE)
                ranges = await self._negotiate(link, version)
            except ConnectionLost as error:
                link.close()
                lost = error
            except RequestTimedOut:
                link.close()
                if self._answered:
                    raise self._silent(address, ApiVersionsRequest.name) from None
                return None
            except BaseException:
                link.close()
                raise
            else:
                self._answered = True
                log.info("connected to %s", address)
                return self._made(link, address, ranges)
        # Brokers without ApiVersions came before TLS, or hang.
        if lost is not None and (self._answered or self._tls is not None):
            raise lost
        return None

    async def _open_old(self, address: Address, tell: Callable[[str], None]) -> BrokerLink:
        """Connect to what may be a broker older than 0.10; one that is answers as those do, which Kafka 4 would not."""
        link = await self._connect(address, self._tls, tell)
        what = f"{ApiVersionsRequest.name}, nor {ListOffsetsRequest.name}, as a broker before 0.10 does,"
        tell(f"connected, but no answer to {what.removesuffix(',')}")
        broker = self._made(link, address, BEFORE_API_VERSIONS)
        try:
            await broker.call(ListOffsetsRequest(replica_id=-1), self._net.now() + self._patience)
        except BaseException as error:
            link.close()
            if isinstance(error, RequestTimedOut):
                raise self._silent(address, what) from None
            raise
        return broker

    def _made(self, link: Link, address: Address, ranges: Ranges) -> BrokerLink:
        return BrokerLink(self._net, link, address, ranges, self._options["client_id"], self._throttles)

    def _silent(self, address: Address, what: str) -> RequestTimedOut:
        return RequestTimedOut(
            f"{address} accepted the connection but did not answer {what} in {self._patience:g} s (api_version_auto_timeout_ms)"
        )

    async def _connect(self, address: Address, tls: Any, tell: Callable[[str], None]) -> Link:
        tell("connecting")
        patience = self._options["socket_connection_setup_timeout_ms"] / 1000
        return await self._net.connect(address.host, address.port, tls, self._net.now() + patience)

    async def _negotiate(self, link: Link, version: int) -> Ranges:
        deadline = self._net.now() + self._patience
        message = ApiVersionsRequest(client_software_name="kafkawire", client_software_version=__version__)
        while True:
            frame = request_frame(message, version, self._options["client_id"])
            answer = read_api_versions(await call(self._net, link, frame, deadline), version)
            if not isinstance(answer, int):
                return answer
            version = answer

    async def _speaks_tls(self, address: Address) -> str | None:
        """Advice for a port that hangs up, if it speaks TLS. Certificates are not checked here."""
        try:
            link = await self._connect(address, self._net.tls(TlsOptions(check_hostname=False)), _tell_nobody)
        except TlsError:
            pass
        except NetworkError:
            return None
        else:
            link.close()
        return "the port speaks TLS: set security_protocol='SSL', or connect to the port without TLS"

    async def _speaks_plaintext(self, address: Address) -> str | None:
        """Advice for a port that hangs up, if it speaks Kafka without TLS. Sends nothing secret."""
        try:
            link = await self._connect(address, None, _tell_nobody)
            try:
                await self._negotiate(link, 0)
            finally:
                link.close()
        except KafkaError:
            return None
        return "the port speaks Kafka without TLS: set security_protocol='PLAINTEXT', or connect to the port with TLS"


def _tell_nobody(_doing: str) -> None:
    pass

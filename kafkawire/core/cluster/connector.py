"""Connecting to a broker: TCP, TLS, and the handshake that finds out which API versions it speaks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kafkawire.config import ConnectionOptions, TlsOptions, tls_options
from kafkawire.core.cluster.backoff import Seldom
from kafkawire.core.cluster.broker_link import THROTTLE_LOG_PAUSE, BrokerLink
from kafkawire.core.cluster.metadata import Address
from kafkawire.errors import ConnectionLost, KafkaError, NetworkError, NotKafkaError, RequestTimedOut, TlsError
from kafkawire.net.base import HandshakeCut, Link, Net, call, sleep
from kafkawire.protocol.frames import request_frame
from kafkawire.protocol.handshake import BEFORE_API_VERSIONS, Ranges, read_api_versions
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from kafkawire.version import __version__

__all__ = ["Connector"]

log = logging.getLogger("kafkawire.connection")

VERDICT_PAUSE = 0.5
"""Seconds within which a broker's refusal of a client certificate should have arrived."""


class Connector:
    """Opens links to brokers.

    Connects run in several flows at once. They share what earlier connects have learned about the cluster, which only ever
    spares a later connect some steps.
    """

    def __init__(self, net: Net, options: ConnectionOptions) -> None:
        self._net = net
        self._options = options
        tls = tls_options(options)
        self._tls = None if tls is None else net.tls(tls)
        self._handshake_timeout = options["api_version_auto_timeout_ms"] / 1000
        self._throttles = Seldom(THROTTLE_LOG_PAUSE)
        self._answered = False
        """True once a broker of the cluster has answered ApiVersions. From then on no broker counts as older than 0.10, not
        even in a cluster that is being upgraded from 0.9: a newer broker that is slow must not get records in old formats.
        """
        self._old_until: dict[Address, float] = {}
        """Time until which a broker that proved to be older than 0.10 is taken for one without being asked again."""

    async def open(self, address: Address, tell: Callable[[str], None]) -> BrokerLink:
        """Connect to a broker and agree on API versions. `tell` is called with each step that is waited for.

        Each step has a deadline of its own: socket_connection_setup_timeout_ms for a connection,
        api_version_auto_timeout_ms for an answer. Raises ConnectError, TlsError, NotKafkaError, ConnectionLost or
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
            # A newer broker that was starting, or cut off, looks the same: it may answer by now.
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
        """Connect and ask for versions; None if the broker behaves like one before 0.10, and may be one.

        Brokers before 0.10 either close the connection on ApiVersions or never answer it. Some newer services close it on
        versions of ApiVersions that they do not know (trap 6), so version 0 is tried as well.
        """
        lost: ConnectionLost | None = None
        for version in (ApiVersionsRequest.versions.max, 0):
            link = await self._connect(address, self._tls, tell)
            tell(f"connected, but no answer to {ApiVersionsRequest.name}")
            try:
                if lost is not None and self._tls is not None:
                    # In TLS 1.3 the broker's verdict on our certificate comes after the handshake. Data sent before the
                    # verdict can have the connection reset, and the verdict lost.
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
                return self._broker_link(link, address, ranges)
        # Brokers that close the connection on ApiVersions are older than TLS (0.9); those of 0.9 never answer it.
        if lost is not None and (self._answered or self._tls is not None):
            raise lost
        return None

    async def _open_old(self, address: Address, tell: Callable[[str], None]) -> BrokerLink:
        """Connect to a broker that may be older than 0.10. Only such a broker, and no Kafka 4, answers ListOffsets v0."""
        link = await self._connect(address, self._tls, tell)
        what = f"{ApiVersionsRequest.name}, nor {ListOffsetsRequest.name}, as a broker before 0.10 does,"
        tell(f"connected, but no answer to {what.removesuffix(',')}")
        broker = self._broker_link(link, address, BEFORE_API_VERSIONS)
        try:
            await broker.call(ListOffsetsRequest(replica_id=-1), self._net.now() + self._handshake_timeout)
        except BaseException as error:
            link.close()
            if isinstance(error, RequestTimedOut):
                raise self._silent(address, what) from None
            raise
        return broker

    def _broker_link(self, link: Link, address: Address, ranges: Ranges) -> BrokerLink:
        request_timeout = self._options["request_timeout_ms"] / 1000
        return BrokerLink(self._net, link, address, ranges, self._options["client_id"], request_timeout, self._throttles)

    def _silent(self, address: Address, what: str) -> RequestTimedOut:
        timeout = f"{self._handshake_timeout:g} s (api_version_auto_timeout_ms)"
        return RequestTimedOut(f"{address} accepted the connection but did not answer {what} in {timeout}")

    async def _connect(self, address: Address, tls: Any, tell: Callable[[str], None]) -> Link:
        tell("connecting")
        timeout = self._options["socket_connection_setup_timeout_ms"] / 1000
        return await self._net.connect(address.host, address.port, tls, self._net.now() + timeout)

    async def _negotiate(self, link: Link, version: int) -> Ranges:
        deadline = self._net.now() + self._handshake_timeout
        message = ApiVersionsRequest(client_software_name="kafkawire", client_software_version=__version__)
        while True:
            frame = request_frame(message, version, self._options["client_id"])
            answer = read_api_versions(await call(self._net, link, frame, deadline), version)
            if not isinstance(answer, int):
                return answer
            version = answer

    async def _speaks_tls(self, address: Address) -> str | None:
        """Returns advice if the port, which hung up on us, speaks TLS. Certificates are not checked here."""
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
        """Returns advice if the port, which hung up on us, speaks Kafka without TLS. Sends nothing secret."""
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

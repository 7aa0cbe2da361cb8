"""The places of a client's links: one for each broker and role, where connecting is begun once at a time."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkawire.core.cluster.handshake import Address, BrokerLink
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.errors import ClosedError, KafkaError

if TYPE_CHECKING:
    from kafkawire.core.cluster.client import ClusterClient

__all__ = ["CONTROL", "LinkRole", "LinkSlot"]

log = logging.getLogger("kafkawire.connection")


class LinkRole:
    """The role of a link. A broker answers a connection in order, so requests that may wait long have links of their own.

    CONTROL is for everybody; each producer and consumer makes one or two of its own, and lets go of them at its end.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


CONTROL = LinkRole("control")


class LinkSlot:
    """The place of one link: the link while it is up, and how connecting has gone.

    Its state is written in its flight, which runs once at a time, and by `close`; all others only look at it.
    """

    def __init__(self, client: ClusterClient, node_id: int, role: LinkRole) -> None:
        self.node_id = node_id
        self.link: BrokerLink | None = None
        self.error: KafkaError | None = None
        self.failures = 0
        self.retry_at = 0.0
        self.doing = ""
        """The present step of connecting, as text; empty when nothing is under way."""
        self.connecting = SingleFlight(client.net, self._connect, f"kafkawire-connect-{node_id}-{role.name}")
        self._client = client
        self._closed = False

    def usable(self, address: Address) -> BrokerLink | None:
        """The link if it is up and still leads to where the broker is (trap 110: ids move to new addresses).

        One that was idle for long is not used again: the broker may be closing it at this moment (trap 14).
        """
        link = self.link
        if link is None or link.link.error is not None or link.address != address:
            return None
        return link if self._client.net.now() - link.used_at < self._client.max_idle else None

    @property
    def up(self) -> bool:
        """Whether there is a link, as far as anybody has noticed."""
        return self.link is not None and self.link.link.error is None

    @property
    def quiet(self) -> bool:
        """Whether there is one whose broker has not asked to be left alone."""
        return self.link is not None and self.up and self.link.muted_until <= self._client.net.now()

    async def _connect(self) -> None:
        client = self._client
        try:
            address = client.address(self.node_id)
            if self.usable(address) is not None:
                return
            if self.link is not None:
                self.link.link.close()
            link = await client.connector.open(address, self._tell)
        except KafkaError as error:
            if client.closed or isinstance(error, ClosedError):  # the driver may be closed, or its loop, and not the client
                return
            self.failures += 1
            self.error = error
            self.retry_at = client.net.now() + client.reconnect_backoff.delay(self.failures)
            client.suspect_metadata()
            who = f"broker {self.node_id}" if self.node_id >= 0 else f"bootstrap server {client.address(self.node_id)}"
            log.log(logging.WARNING if self.failures == 1 else logging.DEBUG, "%s: %s", who, error)
            return
        finally:
            self.doing = ""
        self.failures = 0
        self.error = None
        self.link = link
        if client.closed or self._closed:
            link.link.close()

    def _tell(self, doing: str) -> None:
        self.doing = doing

    def close(self) -> None:
        """Close the link, or the one that is being made when it is."""
        self._closed = True
        if self.link is not None:
            self.link.link.close()

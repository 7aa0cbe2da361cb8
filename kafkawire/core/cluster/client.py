"""The client side of one cluster, composed: metadata, its updater, links and the router."""

from __future__ import annotations

from typing import Any

from kafkawire.config import ConnectionOptions
from kafkawire.core.arguments import check_node
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.link_slots import LinkSlots
from kafkawire.core.cluster.metadata import Metadata
from kafkawire.core.cluster.metadata_updater import MetadataUpdater
from kafkawire.core.cluster.router import Router
from kafkawire.core.cluster.targets import AnyBroker, OneBroker
from kafkawire.net.base import Net
from kafkawire.protocol.schema import Request

__all__ = ["ClusterClient"]


class ClusterClient:
    """The state that a Connection shares with the producers and consumers that use it. Thread-safe."""

    def __init__(self, net: Net, options: ConnectionOptions) -> None:
        self.net = net
        self.options = options
        self.retry_backoff = Backoff(options["retry_backoff_ms"], options["retry_backoff_max_ms"])
        self.metadata = Metadata(options["bootstrap_servers"])
        self.links = LinkSlots(net, options, self.metadata)
        self.updater = MetadataUpdater(net, options, self.metadata, self.links, self.retry_backoff)
        self.router = Router(net, self.metadata, self.updater, self.links, self.retry_backoff)

    async def request(self, message: Request, broker: int | None, deadline: float) -> Any:
        """Send a user's message once, to a broker by its node id or to any, and return the response.

        Raises TypeError or ConfigurationError for arguments that are none, or as `Router.ask`.
        """
        if not isinstance(message, Request):
            raise TypeError(f"message is a Request of kafkawire.protocol, not {message!r}")
        if broker is not None:
            check_node(broker)
        return await self.router.ask(message, AnyBroker() if broker is None else OneBroker(broker), deadline)

    def close(self) -> None:
        """Close every link. Idempotent."""
        self.links.close()

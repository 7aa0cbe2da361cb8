"""Base of the blocking and the asyncio Connection, and of the clients that use one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

from kafkawire._clients.closing import ClientBase
from kafkawire._clients.live_producers import shut_when_idle
from kafkawire.config import ConnectionOptions, forget_secrets, from_properties, resolve, resolve_shared
from kafkawire.core.arguments import seconds
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.errors import ConfigurationError
from kafkawire.net.base import OwnedNet

__all__ = ["ConnectedBase", "ConnectionBase", "shared_options"]


class ConnectionBase(ClientBase):
    """Owns one network driver, and the cluster state that is reached through it."""

    net: OwnedNet
    part = False
    """True if it was made by a producer or consumer, which closes it."""

    def __init__(self, net: OwnedNet, servers: str | Sequence[str] | None, options: ConnectionOptions) -> None:
        self.net = net
        if servers is not None and "bootstrap_servers" in options:
            raise ConfigurationError("the servers are given twice: once without a name and once as bootstrap_servers")
        self.options = resolve(ConnectionOptions, options if servers is None else {**options, "bootstrap_servers": servers})
        self.client = ClusterClient(net, self.options)
        forget_secrets(self.options)
        self._servers = self.options["bootstrap_servers"]
        self._open = True

    def _drop(self) -> bool:
        if self.net.closed:
            return False
        self.net.finalize(partial(shut_when_idle, self.net))
        return not self.part

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Self:
        """Make a connection from dotted Kafka properties, as `{"bootstrap.servers": ...}`."""
        return cls(**from_properties(ConnectionOptions, properties))

    def bootstrap_connected(self) -> bool:
        """Return True if a broker has answered so far; no call before the first that needs a broker connects to one."""
        return bool(self.client.metadata.snapshot.brokers)

    def deadline(self, timeout: float | None) -> float:
        """Return the time of the driver's clock `timeout` seconds from now; default_api_timeout_ms from now if None."""
        return self.client.net.now() + (self.options["default_api_timeout_ms"] / 1000 if timeout is None else seconds(timeout))


class ConnectedBase(ClientBase):
    """Base of Producer and Consumer, which work through a connection.

    Connections that a client makes for itself are in `_owned`: `close` closes them, and a client that is dropped drops them,
    without a warning of their own (`part`). A client that needs a second driver, as for heartbeats in the background, gets it
    with a second connection of its own there. After fork() each driver closes its sockets by itself.
    """

    _connection: ConnectionBase
    _owned: Sequence[ConnectionBase]

    def bootstrap_connected(self) -> bool:
        """Return True if a broker has answered so far; no call before the first that needs a broker connects to one."""
        return self._connection.bootstrap_connected()


def shared_options(kind: type[Any], given: Mapping[str, Any], connection: Any, expected: type[ConnectionBase]) -> Any:
    """Resolve the options of a client that may use a connection made before.

    Raises TypeError if that connection is not of the `expected` class, else as `resolve`.
    """
    if not isinstance(connection, expected | None):
        name = f"{expected.__module__.removesuffix('.connection')}.{expected.__name__}"
        raise TypeError(f"connection is a {name}, not {type(connection).__name__}: {connection!r}")
    return resolve_shared(kind, given, None if connection is None else connection.options)

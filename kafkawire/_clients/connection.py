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
from kafkawire.protocol.schema import Request

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
        """Make a connection from Kafka properties.

        Args:
            properties: Names with dots -> values, which may be text, as in a properties file.

        Returns:
            The connection. Nothing is connected before the first call that needs a broker.

        Raises:
            ConfigurationError: A property is unknown, contradictory or out of range.

        Example:
            >>> connection = Connection.from_properties({"bootstrap.servers": "localhost:9092"})
        """
        return cls(**from_properties(ConnectionOptions, properties))

    def brokers(self, *, timeout: float | None = None) -> Any:
        """Return the brokers of the cluster, which one of them is asked for if none is known yet.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            list[Broker]: node_id, host, port and rack of each.

        Raises:
            KafkaError: Any error that `refresh` raises, if a broker has to be asked.

        Example:
            >>> brokers = connection.brokers(timeout=10)
            >>> [broker.node_id for broker in brokers]
            [1]
        """
        raise NotImplementedError

    def controller(self, *, timeout: float | None = None) -> Any:
        """Return the controller of the cluster, which a broker is asked for if no metadata is known yet.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            Broker | None: node_id, host, port and rack; None where brokers do not name a controller (before 0.10).

        Raises:
            KafkaError: Any error that `refresh` raises, if a broker has to be asked.

        Example:
            >>> controller = connection.controller(timeout=10)
            >>> controller.node_id
            1
        """
        raise NotImplementedError

    def topics(self, *, timeout: float | None = None) -> Any:
        """Ask a broker for the names of all topics.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            list[str]: The names in alphabetical order, internal topics included.

        Raises:
            BootstrapError: No broker answered in time; the message has a reason for each.
            NotKafkaError: The port of every bootstrap server speaks another protocol.
            TlsError: The TLS handshake failed for a reason that a retry does not change.
            TimedOut: The time was too short to ask every broker.
            ClosedError: The connection is closed.

        Example:
            >>> connection.topics(timeout=10)
            ['flights']
        """
        raise NotImplementedError

    def partitions(self, topic: str, *, timeout: float | None = None) -> Any:
        """Return the partitions of a topic, which a broker is asked for if the topic is not known yet.

        Args:
            topic: Name of the topic.
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            list[Partition]: index, leader (a node id, or None while there is none), leader_epoch, replicas and isr of each.

        Raises:
            UnknownTopicError: There is no such topic.
            KafkaError: Any error that `refresh` raises, if a broker has to be asked.

        Example:
            >>> partitions = connection.partitions("flights", timeout=10)
            >>> [partition.index for partition in partitions]
            [0, 1]
        """
        raise NotImplementedError

    def refresh(self, *, timeout: float | None = None) -> Any:
        """Ask a broker for new metadata: the brokers of the cluster, and the partitions of topics in use.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Raises:
            BootstrapError: No broker answered in time; the message has a reason for each.
            NotKafkaError: The port of every bootstrap server speaks another protocol.
            TlsError: The TLS handshake failed for a reason that a retry does not change.
            TimedOut: The time was too short to ask every broker.
            ClosedError: The connection is closed.

        Example:
            >>> connection.refresh(timeout=10)
        """
        raise NotImplementedError

    def request(self, message: Request, *, broker: int | None = None, timeout: float | None = None) -> Any:
        """Send a request of your own to a broker, in the highest version that both ends speak, without retries.

        Args:
            message: A request of `kafkawire.protocol`.
            broker: Node id; any broker if None.
            timeout: Seconds; default_api_timeout_ms if None. A broker gets request_timeout_ms at most.

        Returns:
            The decoded response. Error codes inside it are the caller's to look at.

        Raises:
            NetworkError: The broker could not be reached, or the connection was lost.
            TimedOut: The broker did not answer in time.
            UnsupportedVersionError: The broker does not know the request, or no version in common.
            EncodeError: A field has a value that the version cannot carry.
            DecodeError: The response is damaged.
            TypeError: The message is not a request.
            ClosedError: The connection is closed.

        Example:
            >>> from kafkawire.protocol.messages.metadata import MetadataRequest
            >>> response = connection.request(MetadataRequest(topics=[]), timeout=10)
            >>> len(response.brokers)
            1
        """
        raise NotImplementedError

    def close(self) -> Any:
        """Close all sockets; an idempotent call. Producers and consumers that use this connection can do nothing after it.

        Example:
            >>> connection.close()
        """
        raise NotImplementedError

    def bootstrap_connected(self) -> bool:
        """Return True if a broker has answered so far. This call connects to none.

        Example:
            >>> connection.bootstrap_connected()
            False
        """
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

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> Any:
        """Return the numbers of a topic's partitions, which a broker is asked for if the topic is not known yet.

        Args:
            topic: Name of the topic.
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            set[int]: The numbers, from 0.

        Raises:
            UnknownTopicError: There is no such topic.
            BootstrapError: No broker answered in time; the message has a reason for each.
            TimedOut: The time was too short to ask every broker.
            ClosedError: The client is closed.

        Example:
            >>> consumer.partitions_for("flights", timeout=10)
            {0, 1}
        """
        raise NotImplementedError

    def bootstrap_connected(self) -> bool:
        """Return True if a broker has answered so far. This call connects to none.

        Example:
            >>> consumer.bootstrap_connected()
            False
        """
        return self._connection.bootstrap_connected()


def shared_options(kind: type[Any], given: Mapping[str, Any], connection: Any, expected: type[ConnectionBase]) -> Any:
    """Resolve the options of a client that may use a connection made before.

    Raises TypeError if that connection is not of the `expected` class, else as `resolve`.
    """
    if not isinstance(connection, expected | None):
        name = f"{expected.__module__.removesuffix('.connection')}.{expected.__name__}"
        raise TypeError(f"connection is a {name}, not {type(connection).__name__}: {connection!r}")
    return resolve_shared(kind, given, None if connection is None else connection.options)

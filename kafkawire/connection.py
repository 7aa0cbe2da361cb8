"""The blocking Connection: the brokers and topics of a cluster, and requests of your own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

from kafkawire._clients.closing import Closing
from kafkawire._clients.connection import ConnectionBase
from kafkawire._clients.help import with_options
from kafkawire.config import ConnectionOptions, connection_part
from kafkawire.core.cluster.metadata import Broker, Partition
from kafkawire.foreign_methods import ADMIN, instead_of
from kafkawire.net.blocking import Net, run
from kafkawire.protocol.schema import Request

__all__ = ["Connection"]


@with_options(ConnectionOptions)
@instead_of(ADMIN)
class Connection(ConnectionBase, Closing):
    """Connection to a cluster: a socket for each broker and purpose, opened when a call needs it. Thread-safe.

    Producers and consumers that are made with `connection=` share it. Close it, or use it in a `with` statement.

    Args:
        servers: host:port of some brokers, as a list or separated by commas, in place of the option bootstrap_servers.
        options: See below.

    Raises:
        ConfigurationError: An option is unknown, contradictory or out of range.

    Example:
        >>> with Connection("localhost:9092") as connection:
        ...     connection.topics()
        ['flights']
    """

    net: Net

    def __init__(self, servers: str | Sequence[str] | None = None, /, **options: Unpack[ConnectionOptions]) -> None:
        net = Net()
        try:
            super().__init__(net, servers, options)
        except BaseException:
            net.close()
            raise

    def brokers(self, *, timeout: float | None = None) -> list[Broker]:
        return list(run(self.client.updater.snapshot(self.deadline(timeout))).brokers.values())

    def controller(self, *, timeout: float | None = None) -> Broker | None:
        return run(self.client.updater.snapshot(self.deadline(timeout))).controller

    def topics(self, *, timeout: float | None = None) -> list[str]:
        run(self.client.updater.refresh(self.deadline(timeout), all_topics=True))
        return sorted(self.client.metadata.snapshot.topics)

    def partitions(self, topic: str, *, timeout: float | None = None) -> list[Partition]:
        return list(run(self.client.router.topic(topic, self.deadline(timeout))).partitions.values())

    def refresh(self, *, timeout: float | None = None) -> None:
        run(self.client.updater.refresh(self.deadline(timeout)))

    def request(self, message: Request, *, broker: int | None = None, timeout: float | None = None) -> Any:
        return run(self.client.request(message, broker, self.deadline(timeout)))

    def close(self) -> None:
        self._open = False
        if self.net.forked:
            return
        self.client.close()
        self.net.close()


def connect_for(connection: Connection | None, options: ConnectionOptions) -> tuple[Connection, Sequence[Connection]]:
    """Return the connection that a client uses, and the connections it owns: that one if it is made here."""
    if connection is not None:
        return connection, ()
    own = Connection(**connection_part(options))
    own.part = True
    return own, (own,)


@contextmanager
def closed_on_error(owned: Iterable[Connection]) -> Iterator[None]:
    """Close the connections of a client whose constructor fails."""
    try:
        yield
    except BaseException:
        close_all(owned)
        raise


def close_all(owned: Iterable[Connection]) -> None:
    """Close the connections that a client owns."""
    for connection in owned:
        connection.close()

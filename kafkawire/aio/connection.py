"""The asyncio Connection: the brokers and topics of a cluster, and requests of your own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from kafkawire._clients.closing import AsyncClosing
from kafkawire._clients.connection import ConnectionBase
from kafkawire._clients.help import with_awaited_examples, with_options
from kafkawire.config import ConnectionOptions, connection_part
from kafkawire.core.cluster.metadata import Broker, Partition
from kafkawire.foreign_methods import ADMIN, instead_of
from kafkawire.net.aio import Net
from kafkawire.protocol.schema import Request

__all__ = ["Connection"]


@with_awaited_examples
@with_options(ConnectionOptions)
@instead_of(ADMIN)
class Connection(ConnectionBase, AsyncClosing):
    """Connection to a cluster: a socket for each broker and purpose, opened when a call needs it. For tasks of one event loop.

    Producers and consumers of the same loop that are made with `connection=` share it. Close it, or use it in an `async with`
    statement. A call that waits, in another loop than the one that ran when it was made, raises WrongLoopError.

    Args:
        servers: host:port of some brokers, as a list or separated by commas, in place of the option bootstrap_servers.
        options: See below.

    Raises:
        ConfigurationError: An option is unknown, contradictory or out of range.

    Example:
        >>> async with Connection("localhost:9092") as connection:
        ...     await connection.topics()
        ['flights']
    """

    net: Net

    def __init__(self, servers: str | Sequence[str] | None = None, /, **options: Unpack[ConnectionOptions]) -> None:
        super().__init__(Net(), servers, options)

    async def brokers(self, *, timeout: float | None = None) -> list[Broker]:
        return list((await self.client.updater.snapshot(self.deadline(timeout))).brokers.values())

    async def controller(self, *, timeout: float | None = None) -> Broker | None:
        return (await self.client.updater.snapshot(self.deadline(timeout))).controller

    async def topics(self, *, timeout: float | None = None) -> list[str]:
        await self.client.updater.refresh(self.deadline(timeout), all_topics=True)
        return sorted(self.client.metadata.snapshot.topics)

    async def partitions(self, topic: str, *, timeout: float | None = None) -> list[Partition]:
        return list((await self.client.router.topic(topic, self.deadline(timeout))).partitions.values())

    async def refresh(self, *, timeout: float | None = None) -> None:
        await self.client.updater.refresh(self.deadline(timeout))

    async def request(self, message: Request, *, broker: int | None = None, timeout: float | None = None) -> Any:
        return await self.client.request(message, broker, self.deadline(timeout))

    async def close(self) -> None:
        self.net.check_loop()
        self._open = False
        if not self.net.forked:
            self.client.close()
            await self.net.close()


def connect_for(connection: Connection | None, options: ConnectionOptions) -> tuple[Connection, Sequence[Connection]]:
    """Return the connection that a client uses, and the connections it owns: that one if it is made here."""
    if connection is not None:
        return connection, ()
    own = Connection(**connection_part(options))
    own.part = True
    return own, (own,)


async def close_all(owned: Iterable[Connection]) -> None:
    """Close the connections that a client owns."""
    for connection in owned:
        await connection.close()

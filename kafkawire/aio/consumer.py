"""The asyncio Consumer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Never, TypeVar, Unpack

from kafkawire._clients.arguments import SomePartition, partition_of, partitions_of, times_of, topic_names
from kafkawire._clients.closing import AsyncClosing
from kafkawire._clients.connection import shared_options
from kafkawire._clients.consumer import ConsumerBase
from kafkawire._clients.help import with_awaited_examples, with_options
from kafkawire.aio.connection import Connection, close_all, connect_for
from kafkawire.config import ConsumerOptions
from kafkawire.core.arguments import seconds
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST, Found
from kafkawire.foreign_methods import CONSUMER, POLL_TEXT, instead_of
from kafkawire.message import K, Message, TopicPartition, V
from kafkawire.protocol.records import no_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Consumer"]

T = TypeVar("T")
YIELD_EVERY = 256
"""Number of records after which iteration lets other tasks run: over records that were fetched it would never suspend."""


@with_awaited_examples
@with_options(ConsumerOptions)
@instead_of(CONSUMER)
class Consumer(ConsumerBase, AsyncClosing, Generic[K, V]):
    """Reads records of all partitions of its topics, or of the partitions that are assigned to it.

    For one task at a time: a second one gets ConcurrentUseError. Close it, or use it in an `async with` statement. A call
    that waits, in another loop than the one that ran when the consumer was made, raises WrongLoopError.

    Iteration yields one record after another. It ends after consumer_timeout_ms without a record, or with stop_at_end; without
    these options it goes on for ever. `anext` returns one record. Both raise the errors of `poll`.

    Args:
        topics: Names of topics to read, or lists of names. New partitions of a topic are read from their beginning.
        connection: A connection of the same loop to share, which brings its own options; the consumer makes one if None.
        options: See below.

    Raises:
        ConfigurationError: An option is unknown, contradictory or out of range.
        TypeError: The connection is not a `kafkawire.aio.Connection`.

    Example:
        >>> options = {"bootstrap_servers": "localhost:9092", "auto_offset_reset": "earliest", "stop_at_end": True}
        >>> async with Consumer("flights", **options) as consumer:
        ...     async for message in consumer:
        ...         print(message.offset, message.key, message.value)
        0 b'UA' b'EWR-IAH'
        1 b'UA' b'LGA-IAH'
    """

    _connection: Connection
    _owned: Sequence[Connection]

    def __init__(
        self, *topics: str | Iterable[str], connection: Connection | None = None, **options: Unpack[ConsumerOptions[K, V]]
    ) -> None:
        names = topic_names(topics)
        resolved = shared_options(ConsumerOptions, options, connection, Connection)
        self._connection, self._owned = connect_for(connection, resolved)
        self._setup(resolved, names)

    # ---- reading

    async def poll(
        self, *misplaced: Never, timeout: float = 0.0, max_records: int | None = None, **unknown: Never
    ) -> list[Message[K, V]]:
        if misplaced or unknown:
            raise TypeError(POLL_TEXT)
        most = self._most(max_records)
        return await self._poll(timeout, lambda until: self._core.collector.take(most, until))

    async def poll_arrow(self, *, timeout: float = 0.0, max_records: int = 100_000, headers: bool = False) -> pa.RecordBatch:
        most = self._most(max_records)
        found = await self._poll(timeout, lambda until: self._core.collector.take_arrow(most, headers, until))
        return found if found is not None else no_rows(headers)

    async def __aiter__(self) -> AsyncIterator[Message[K, V]]:
        """Yield records until consumer_timeout_ms passes without one, or to the end with stop_at_end."""
        ends = await self._core.iteration_ends()
        until_yield = YIELD_EVERY
        while True:
            for message in self._core.collector.upcoming:
                yield message
                until_yield -= 1
                if until_yield == 0:
                    until_yield = YIELD_EVERY
                    await asyncio.sleep(0)
            if not await self._read_ahead(ends):
                return

    async def __anext__(self) -> Message[K, V]:
        """Return the next record. Raises StopAsyncIteration when iteration would end."""
        while True:
            for message in self._core.collector.upcoming:
                return message
            if self._next_ends is None:
                self._next_ends = await self._core.iteration_ends()
            if not await self._read_ahead(self._next_ends):
                self._next_ends = None
                raise StopAsyncIteration

    async def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = 1_048_576, timeout: float | None = None
    ) -> list[Message[K, V]]:
        tp = partition_of((topic, partition))
        return await self._core.fetch(tp, offset, max_bytes, self._connection.deadline(timeout))

    # ---- topics and offsets

    async def topics(self, *, timeout: float | None = None) -> list[str]:
        return await self._connection.topics(timeout=timeout)

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> set[int]:
        return {partition.index for partition in await self._connection.partitions(topic, timeout=timeout)}

    async def position(self, tp: SomePartition, *, timeout: float | None = None) -> int:
        with self._alone():
            return await self._core.position(partition_of(tp), self._connection.deadline(timeout))

    async def beginning_offsets(
        self, partitions: Iterable[SomePartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        asked = partitions_of(partitions)
        return await self._core.ends(asked, EARLIEST, self._connection.deadline(timeout))

    async def end_offsets(
        self, partitions: Iterable[SomePartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        asked = partitions_of(partitions)
        return await self._core.ends(asked, LATEST, self._connection.deadline(timeout))

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int], *, timeout: float | None = None
    ) -> dict[TopicPartition, Found | None]:
        asked = times_of(times)
        return await self._core.offsets_for_times(asked, self._connection.deadline(timeout))

    async def lag(self, *, timeout: float | None = None) -> dict[TopicPartition, int]:
        with self._alone():
            return await self._core.lag(self._connection.deadline(timeout))

    # ---- end

    async def close(self, timeout: float | None = None) -> None:
        self._connection.net.check_loop()
        self._open = False
        if not self._connection.net.forked:
            self._core.close()
        await close_all(self._owned)

    async def _poll(self, timeout: float, take: Callable[[float], T]) -> T:
        with self._alone():
            return await self._core.poll(self._connection.net.now() + seconds(timeout), take)

    async def _read_ahead(self, ends: dict[TopicPartition, int] | None) -> bool:
        with self._alone():
            return await self._core.read_ahead(ends)

    def _caller(self) -> object:
        return asyncio.current_task()

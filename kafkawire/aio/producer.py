"""The asyncio Producer, and the results of its deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Never, Unpack, cast

from kafkawire._clients.arguments import one_time, options_only
from kafkawire._clients.closing import AsyncClosing
from kafkawire._clients.connection import shared_options
from kafkawire._clients.deliveries import BatchDeliveryBase, DeliveryBase
from kafkawire._clients.help import with_awaited_examples, with_options
from kafkawire._clients.producer import ProducerBase
from kafkawire.aio.connection import Connection, close_all, connect_for
from kafkawire.config import ProducerOptions
from kafkawire.core.produce.batch import DeliveryCallback
from kafkawire.core.produce.deliveries import raise_failures, written_by
from kafkawire.foreign_methods import ASYNC_DELIVERY, PRODUCER, instead_of
from kafkawire.message import Header, RecordMetadata, SentK, SentV

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

__all__ = ["BatchDelivery", "Delivery", "Producer"]

YIELD_EVERY = 256
"""Number of records after which send() lets other tasks run: with room in the buffer it would never suspend."""


@instead_of(ASYNC_DELIVERY)
class Delivery(DeliveryBase):
    """Delivery result of one record, which `Producer.send` returns: `await` it for its RecordMetadata, in any number of tasks.

    Raises:
        DeliveryTimedOut: The record failed: it was not acknowledged within delivery_timeout_ms.
        BrokerError: The record failed: a broker refused it.
        ClosedError: The record failed: the producer was closed before it was sent.

    Example:
        >>> delivery = await producer.send("flights", b"EWR-IAH", key=b"UA")
        >>> await delivery
        RecordMetadata(topic='flights', partition=0, offset=2, timestamp=...)
    """

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, RecordMetadata]:
        completion = self.completion
        if not completion.done:
            yield from completion.wait_for(None).__await__()
        return completion.result(self.index)


@instead_of(ASYNC_DELIVERY)
class BatchDelivery(BatchDeliveryBase):
    """Delivery result of many records, which `Producer.send_many` and `Producer.send_arrow` return.

    `await` it for a list of RecordMetadata, in the order of the call.

    Raises:
        DeliveryError: Some records failed; `failed` has the error of each, by its index in the call.

    Example:
        >>> delivery = await producer.send_many("flights", [b"EWR-IAH", b"LGA-IAH"], partition=0)
        >>> written = await delivery
        >>> [metadata.offset for metadata in written]
        [2, 3]
    """

    def __await__(self) -> Generator[Any, Any, list[RecordMetadata]]:
        for completion, _, _ in self._runs:
            if not completion.done:
                yield from completion.wait_for(None).__await__()
        raise_failures(self._runs)
        return written_by(self._runs)


@with_awaited_examples
@with_options(ProducerOptions)
@instead_of(PRODUCER)
class Producer(ProducerBase, AsyncClosing, Generic[SentK, SentV]):
    """Sends records in a background task. For tasks of one event loop.

    Close it, or use it in an `async with` statement. The end of that statement sends what is queued; if cancellation or Ctrl-C
    is the reason, records that are queued fail at once. A call that waits, in another loop than the one that ran when the
    producer was made, raises WrongLoopError.

    A record fails when a broker refuses it for good, or delivery_timeout_ms after its `send`: never earlier, and at most
    linger_ms and a twentieth of the timeout later. Its `Delivery` and its `on_delivery` have the error. Failures that no one
    asks for are logged to `kafkawire.producer`, and the end of the `async with` statement raises DeliveryError for them, unless
    another exception ends it or the producer was closed inside.

    `asyncio.run` cancels all tasks when it ends: the producer then sends what is queued for up to exit_flush_timeout_ms. A
    loop that is closed without that sends nothing any more, and a WARNING says how many records are lost, when the producer is
    garbage-collected or the interpreter ends.

    Args:
        connection: A connection of the same loop to share, which brings its own options; the producer makes one if None.
        options: See below.

    Raises:
        ConfigurationError: An option is unknown, contradictory or out of range.
        TypeError: The connection is not a `kafkawire.aio.Connection`.

    Example:
        >>> async with Producer(bootstrap_servers="localhost:9092", linger_ms=20) as producer:
        ...     delivery = await producer.send("flights", b"EWR-IAH", key=b"UA")
        >>> (await delivery).offset
        2
    """

    _delivery = Delivery
    _connection: Connection
    _owned: Sequence[Connection]

    def __init__(
        self, *misplaced: Never, connection: Connection | None = None, **options: Unpack[ProducerOptions[SentK, SentV]]
    ) -> None:
        options_only("Producer", misplaced)
        resolved = shared_options(ProducerOptions, options, connection, Connection)
        self._connection, self._owned = connect_for(connection, resolved)
        self._setup(resolved)
        self._until_yield = YIELD_EVERY

    async def send(
        self,
        topic: str,
        value: SentV | None = None,
        key: SentK | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Iterable[Header] | None = None,
        on_delivery: DeliveryCallback | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        delivery: Delivery | None = None
        if partition is None and timestamp is None and headers is None and on_delivery is None and timestamp_ms is None:
            delivery = self._short_append(topic, value, key)
        if delivery is None:
            time = one_time(timestamp, timestamp_ms)
            own_value, own_key, pairs = self._core.prepare(topic, value, key, partition, time, headers, on_delivery)
            delivery = self._append(topic, own_value, own_key, partition, time, pairs, on_delivery)
            if delivery is None:
                delivery = await self._core.send(topic, own_value, own_key, partition, time, pairs, on_delivery)
        self._until_yield -= 1
        if self._until_yield == 0:
            self._until_yield = YIELD_EVERY
            await asyncio.sleep(0)
        return cast(Delivery, delivery)

    async def send_many(
        self,
        topic: str,
        values: Sequence[SentV | None],
        keys: Sequence[SentK | None] | None = None,
        partition: int | None = None,
        timestamps: Sequence[int] | None = None,
        headers: Sequence[Iterable[Header] | None] | None = None,
    ) -> BatchDelivery:
        columns = self._core.columns(values, keys, timestamps, headers)
        return BatchDelivery(await self._core.send_columns(topic, columns, partition))

    async def send_arrow(self, topic: str, table: pa.Table | pa.RecordBatch) -> BatchDelivery:
        return BatchDelivery(await self._core.send_arrow(topic, table))

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> set[int]:
        return {partition.index for partition in await self._connection.partitions(topic, timeout=timeout)}

    async def flush(self, timeout: float | None = None) -> None:
        await self._core.flush(self._connection.deadline(timeout))

    async def close(self, timeout: float | None = None) -> None:
        deadline = self._connection.deadline(timeout)
        self._connection.net.check_loop()
        self._open = False
        try:
            await self._core.lifecycle.close(deadline)
        finally:
            await close_all(self._owned)

    async def abandon(self) -> None:
        await self.close(timeout=0.0)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        closes = not self._core.lifecycle.closing
        await super().__aexit__(kind, error, trace)
        if kind is None and closes:
            self._core.raise_losses()

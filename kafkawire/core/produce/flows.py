"""Flows of producing: sending that must wait for metadata or room, and flushing."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafkawire.config import ProducerOptions
from kafkawire.core.arguments import check_callable, check_partition, check_timestamp, check_topic
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.core.produce.batch import DeliveryCallback
from kafkawire.core.produce.columns import Columns, arrow_columns, as_list, check_bytes, checked_headers
from kafkawire.core.produce.deliveries import BatchCompletion, Counts, Runs
from kafkawire.core.produce.lifecycle import CLOSED_TEXT, ProducerLifecycle
from kafkawire.core.produce.sender import Sender
from kafkawire.errors import ClosedError, DeliveryError, ErrorCode, OwnLimitError, TimedOut
from kafkawire.message import Header
from kafkawire.net.base import Signal

__all__ = ["ProducerCore"]


class ProducerCore:
    """A producer without its blocking or asyncio methods. Any thread may call it.

    `new_handle` makes the handles that `send` returns, which get a `completion` and an `index`.
    """

    def __init__(self, client: ClusterClient, options: ProducerOptions, new_handle: Callable[[], Any]) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self.accumulator = Accumulator(client.net, options, new_handle)
        sender = Sender(client, self.accumulator, options)
        self.lifecycle = ProducerLifecycle(client.net, self.accumulator, sender, options["exit_flush_timeout_ms"] / 1000)
        self.plain = options["key_serializer"] is None and options["value_serializer"] is None
        """True if keys and values are bytes already."""

    # ---- sending

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp: int | None,
        headers: tuple[Header, ...] | None,
        on_delivery: DeliveryCallback | None,
    ) -> Any:
        """Wait for the metadata or the room that `append` lacked, for at most max_block_ms, and append.

        Raises UnknownTopicError, BootstrapError, TimedOut, MessageTooLargeError, ClosedError.
        """
        deadline = self._net.now() + self._options["max_block_ms"] / 1000
        await self._know(topic, deadline)
        while True:
            freed = self.accumulator.freed
            handle = self.accumulator.append(topic, value, key, partition, timestamp, headers, on_delivery)
            if handle is not None:
                return handle
            await self._room(topic, freed, deadline)

    def prepare(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | None,
        headers: Iterable[Header] | None,
        on_delivery: DeliveryCallback | None,
    ) -> tuple[bytes | None, bytes | None, tuple[Header, ...] | None]:
        """Check all arguments; returns value, key and headers as `append` takes them.

        Raises TypeError, ConfigurationError, and what a serializer raises.
        """
        check_topic(topic)
        if partition is not None:
            check_partition(partition)
        if timestamp is not None:
            check_timestamp(timestamp)
        checked = None if headers is None else checked_headers(headers)
        if on_delivery is not None:
            check_callable("on_delivery", on_delivery)
        key, value = self.serialize(key, value)
        check_bytes(key, value)
        if on_delivery is not None:
            self.lifecycle.start_callbacks()
        return value, key, checked

    def serialize(self, key: Any, value: Any) -> tuple[bytes | None, bytes | None]:
        """Return key and value as bytes. Raises what a serializer raises."""
        of_key, of_value = self._options["key_serializer"], self._options["value_serializer"]
        return key if of_key is None else of_key(key), value if of_value is None else of_value(value)

    def columns(
        self,
        values: Iterable[Any],
        keys: Iterable[Any] | None,
        timestamps: Iterable[int] | None,
        headers: Iterable[Iterable[Header] | None] | None,
    ) -> Columns:
        """Return checked columns of bytes. Raises TypeError, ConfigurationError, and what a serializer raises."""
        if not self.plain:
            values = as_list("values", values)
            keys = None if keys is None else as_list("keys", keys)
            Columns([None] * len(values), None if keys is None else [None] * len(keys))
            pairs = [self.serialize(key, value) for key, value in zip(keys or [None] * len(values), values, strict=True)]
            keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        return Columns(values, keys, timestamps, headers)

    async def send_arrow(self, topic: str, table: Any) -> Runs:
        """Send the rows of an Arrow table; see `send_columns`."""
        parts = list(arrow_columns(table))
        await self._check(topic, [(columns, partition) for partition, _, columns in parts])
        runs: Runs = []
        for partition, rows, columns in parts:
            for completion, at, numbers in await self._send_columns(topic, columns, partition):
                runs.append((completion, at, [rows[number] for number in numbers]))
        return runs

    async def send_columns(self, topic: str, columns: Columns, partition: int | None) -> Runs:
        """Send all rows; returns the completions of their batches, by which the result of each row is found.

        A row that is too large and a partition that does not exist are found before anything is accepted. Each wait for room
        lasts at most max_block_ms; if it ends in an error, the rows before are sent all the same.
        """
        await self._check(topic, [(columns, partition)])
        return await self._send_columns(topic, columns, partition)

    async def _send_columns(self, topic: str, columns: Columns, partition: int | None) -> Runs:
        runs: Runs = []
        for target, rows in self._by_partition(topic, columns, partition):
            part = columns if len(rows) == len(columns) else columns.take(rows)
            start = 0
            while start < len(part):
                freed = self.accumulator.freed
                run = self.accumulator.append_columns(topic, part, start, target)
                if run is None:
                    await self._room(topic, freed, self._net.now() + self._options["max_block_ms"] / 1000)
                    continue
                runs.append((run.completion, run.at, rows[run.start : run.end]))
                start = run.end
        return runs

    def _by_partition(self, topic: str, columns: Columns, partition: int | None) -> list[tuple[int | None, Sequence[int]]]:
        if partition is not None or (columns.keys is None and self.accumulator.topics.custom_partitioner is None):
            return [(partition, range(len(columns)))]
        keys = columns.keys if columns.keys is not None else [None] * len(columns)
        rows: dict[int | None, list[int]] = defaultdict(list)
        for row, target in enumerate(self.accumulator.topics.partitions_of(topic, keys)):
            rows[target].append(row)
        return list(rows.items())

    async def _check(self, topic: str, parts: list[tuple[Columns, int | None]]) -> None:
        """Raise for rows that cannot be accepted, once the topic's metadata is known."""
        check_topic(topic)
        for _, partition in parts:
            if partition is not None:
                check_partition(partition)
        await self._know(topic, self._net.now() + self._options["max_block_ms"] / 1000)
        for columns, partition in parts:
            self._check_sizes(topic, columns)
            if partition is not None:
                self.accumulator.topics.check_partition(topic, partition)

    def _check_sizes(self, topic: str, columns: Columns) -> None:
        most = self._options["max_request_size"]
        for row in range(len(columns)):
            if columns.size(row) > most:
                size = columns.size(row)
                raise OwnLimitError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"row {row}, a record of up to {size} bytes for topic {topic!r}: max_request_size is {most} bytes",
                )

    async def _know(self, topic: str, deadline: float) -> None:
        if self.lifecycle.closing:
            raise ClosedError(CLOSED_TEXT)
        if self.accumulator.accepts(topic):
            return
        found = await self._client.router.topic(topic, deadline, create=self._options["allow_auto_create_topics"])
        self.lifecycle.start_sender()  # first: an interrupt must not leave a topic that is known and no sender that runs
        self.accumulator.topics.add(topic, len(found.partitions), random.randrange(1 << 30))

    async def _room(self, topic: str, freed: int, deadline: float) -> None:
        signal = self._net.signal()
        try:
            found = await self._wait_for_room(signal, freed, deadline)
        finally:
            self.accumulator.end_wait_for_room(signal)
        if not found:
            raise TimedOut(
                f"send to {topic!r}: no room in the buffer within max_block_ms; {self.counts().queued} records are queued in "
                f"buffer_memory={self._options['buffer_memory']} bytes"
            )

    async def _wait_for_room(self, signal: Signal, freed: int, deadline: float) -> bool:
        while not self.accumulator.wait_for_room(signal, freed):
            if not await self._net.wait(signal, deadline):
                return False
            signal.clear()
        return True

    def counts(self) -> Counts:
        """Return the numbers of records so far."""
        return self.accumulator.counts()

    # ---- flushing

    async def flush(self, deadline: float) -> None:
        """Wait until all records accepted so far are acknowledged or failed. Raises TimedOut at the deadline."""
        flush = object()
        try:
            await self._all_done(self.accumulator.start_flush(flush), deadline)
        finally:
            self.accumulator.end_flush(flush)

    async def _all_done(self, completions: list[BatchCompletion], deadline: float) -> None:
        for completion in completions:
            if not await completion.wait(deadline):
                counts = self.accumulator.counts()
                raise TimedOut(f"flush: {counts.queued} of {counts.accepted} records are not acknowledged yet")

    def raise_losses(self) -> None:
        """Raise DeliveryError if records failed that nobody has asked about."""
        summary = self.accumulator.losses.summary()
        if summary is not None:
            raise DeliveryError(f"{summary}. Ask the handles, or give on_delivery, to handle failures where they happen", {})

"""The blocking Consumer."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Never, Unpack

from kafkawire._clients.arguments import SomePartition, partition_of, partitions_of, times_of, topic_names
from kafkawire._clients.closing import Closing
from kafkawire._clients.connection import shared_options
from kafkawire._clients.consumer import ConsumerBase
from kafkawire._clients.help import with_options
from kafkawire.config import ConsumerOptions
from kafkawire.connection import Connection, close_all, closed_on_error, connect_for
from kafkawire.core.arguments import seconds
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST, Found
from kafkawire.foreign_methods import CONSUMER, POLL_TEXT, instead_of
from kafkawire.message import K, Message, TopicPartition, V
from kafkawire.net.blocking import run
from kafkawire.protocol.records import no_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Consumer"]


@with_options(ConsumerOptions)
@instead_of(CONSUMER)
class Consumer(ConsumerBase, Closing, Generic[K, V]):
    """Reads records of all partitions of its topics, or of the partitions that are assigned to it.

    For one thread at a time: a second one gets ConcurrentUseError. Close it, or use it in a `with` statement.

    Iteration yields one record after another. It ends after consumer_timeout_ms without a record, or with stop_at_end; without
    these options it goes on for ever. `next` returns one record. Both raise the errors of `poll`.

    Args:
        topics: Names of topics to read, or lists of names. New partitions of a topic are read from their beginning.
        connection: A connection to share, which brings its own options; the consumer makes one if None.
        options: See below.

    Raises:
        ConfigurationError: An option is unknown, contradictory or out of range.
        TypeError: The connection is not a `kafkawire.Connection`.

    Example:
        >>> options = {"bootstrap_servers": "localhost:9092", "auto_offset_reset": "earliest", "stop_at_end": True}
        >>> with Consumer("flights", **options) as consumer:
        ...     for message in consumer:
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
        with closed_on_error(self._owned):
            self._setup(resolved, names)

    # ---- reading

    def poll(
        self, *misplaced: Never, timeout: float = 0.0, max_records: int | None = None, **unknown: Never
    ) -> list[Message[K, V]]:
        if misplaced or unknown:
            raise TypeError(POLL_TEXT)
        most = self._most(max_records)
        self._enter()
        try:
            deadline = self._soon(timeout)
            collector = self._core.collector
            found = collector.take(most, deadline)
            return found or run(self._core.poll(deadline, lambda until: collector.take(most, until)))
        finally:
            self._user = None

    def poll_arrow(self, *, timeout: float = 0.0, max_records: int = 100_000, headers: bool = False) -> pa.RecordBatch:
        most = self._most(max_records)
        self._enter()
        try:
            found = run(
                self._core.poll(self._soon(timeout), lambda until: self._core.collector.take_arrow(most, headers, until))
            )
            return found if found is not None else no_rows(headers)
        finally:
            self._user = None

    def __iter__(self) -> Iterator[Message[K, V]]:
        """Yield records until consumer_timeout_ms passes without one, or to the end with stop_at_end."""
        ends = run(self._core.iteration_ends())
        yield from self._core.collector.upcoming
        while self._read_ahead(ends):
            yield from self._core.collector.upcoming

    def __next__(self) -> Message[K, V]:
        """Return the next record. Raises StopIteration when iteration would end."""
        while True:
            for message in self._core.collector.upcoming:
                return message
            if self._next_ends is None:
                self._next_ends = run(self._core.iteration_ends())
            if not self._read_ahead(self._next_ends):
                self._next_ends = None
                raise StopIteration

    def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = 1_048_576, timeout: float | None = None
    ) -> list[Message[K, V]]:
        tp = partition_of((topic, partition))
        return run(self._core.fetch(tp, offset, max_bytes, self._connection.deadline(timeout)))

    # ---- topics and offsets

    def topics(self, *, timeout: float | None = None) -> list[str]:
        return self._connection.topics(timeout=timeout)

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> set[int]:
        return {partition.index for partition in self._connection.partitions(topic, timeout=timeout)}

    def position(self, tp: SomePartition, *, timeout: float | None = None) -> int:
        with self._alone():
            return run(self._core.position(partition_of(tp), self._connection.deadline(timeout)))

    def beginning_offsets(
        self, partitions: Iterable[SomePartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        return self._ends(partitions, EARLIEST, timeout)

    def end_offsets(self, partitions: Iterable[SomePartition], *, timeout: float | None = None) -> dict[TopicPartition, int]:
        return self._ends(partitions, LATEST, timeout)

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int], *, timeout: float | None = None
    ) -> dict[TopicPartition, Found | None]:
        asked = times_of(times)
        return run(self._core.offsets_for_times(asked, self._connection.deadline(timeout)))

    def lag(self, *, timeout: float | None = None) -> dict[TopicPartition, int]:
        with self._alone():
            return run(self._core.lag(self._connection.deadline(timeout)))

    # ---- end

    def close(self, timeout: float | None = None) -> None:
        self._open = False
        if not self._connection.net.forked:
            self._core.close()
        close_all(self._owned)

    def _ends(self, partitions: Iterable[SomePartition], which: int, timeout: float | None) -> dict[TopicPartition, int]:
        asked = partitions_of(partitions)
        return run(self._core.ends(asked, which, self._connection.deadline(timeout)))

    def _read_ahead(self, ends: dict[TopicPartition, int] | None) -> bool:
        self._enter()
        try:
            return run(self._core.read_ahead(ends))
        finally:
            self._user = None

    def _soon(self, timeout: float) -> float:
        return self._connection.net.now() + seconds(timeout)

    def _caller(self) -> object:
        return threading.get_ident()

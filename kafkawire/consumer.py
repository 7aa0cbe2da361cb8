"""A consumer for threads and scripts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast

from kafkawire.config import ConsumerOptions, from_properties, resolve_shared
from kafkawire.connection import Connection, connect_for
from kafkawire.core.consumer import ConsumerCore
from kafkawire.core.offsets import EARLIEST, LATEST, Found
from kafkawire.errors import ConcurrentUseError
from kafkawire.message import Message, TopicPartition
from kafkawire.net.blocking import run
from kafkawire.protocol.records import arrow_schema

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

__all__ = ["Consumer"]

T = TypeVar("T")


class Consumer:
    """Reads partitions: all those of the topics given, or those that are assigned.

    One thread at a time; a second one gets ConcurrentUseError. Options are those of `ConsumerOptions`; with `connection`,
    those of the connection are the connection's. Close it, or use it in a `with` statement.

    Raises ConfigurationError for options that are unknown, contradictory or out of range.
    """

    def __init__(self, *topics: str, connection: Connection | None = None, **options: Unpack[ConsumerOptions]) -> None:
        self.options = resolve_shared(ConsumerOptions, options, None if connection is None else connection.options)
        self._connection, self._own_connection = connect_for(connection, self.options)
        self._core = ConsumerCore(self._connection.client, self.options, topics)
        self._user: int | None = None

    @classmethod
    def from_properties(cls, *topics: str, properties: Mapping[str, Any]) -> Self:
        """The same from dotted Kafka properties, as `{"bootstrap.servers": ..., "auto.offset.reset": "earliest"}`."""
        return cls(*topics, **cast(ConsumerOptions, from_properties(ConsumerOptions, properties)))

    # ---- what is read

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read these partitions and no others; those that were read before keep their position."""
        with self._alone():
            self._core.assign(TopicPartition(*tp) for tp in partitions)

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; those of the constructor's topics once they are known."""
        return self._core.assignment()

    def seek(self, tp: TopicPartition | tuple[str, int], where: int | str) -> None:
        """Go on at an offset, at "earliest", "latest", or "tail:N": N records before the end."""
        with self._alone():
            self._core.seek(TopicPartition(*tp), where)

    def seek_to_beginning(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Go to the first offset of the partitions, of all assigned ones if none is named."""
        for tp in partitions or self.assignment():
            self.seek(tp, "earliest")

    def seek_to_end(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Go to the end of the partitions, of all assigned ones if none is named."""
        for tp in partitions or self.assignment():
            self.seek(tp, "latest")

    def pause(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Return nothing of the partitions until `resume`."""
        with self._alone():
            for tp in partitions:
                self._core.pause(TopicPartition(*tp))

    def resume(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Go on with the partitions where they were paused."""
        with self._alone():
            for tp in partitions:
                self._core.resume(TopicPartition(*tp))

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return self._core.paused()

    # ---- reading

    def poll(self, *, timeout: float = 0.0, max_records: int | None = None) -> list[Message]:
        """Records that are here, or that come within `timeout` seconds; [] if none do.

        Up to `max_records` (max_poll_records if None). Raises UnknownTopicError, OffsetOutOfRangeError (auto_offset_reset
        'none'), CorruptRecordsError, DeserializationError or another BrokerError; the position stays before the record.
        """
        most = self.options["max_poll_records"] if max_records is None else max_records
        self._enter()
        try:
            return self._core.take(most) or run(self._core.poll(self._soon(timeout), lambda: self._core.take(most)))
        finally:
            self._user = None

    def poll_arrow(self, *, timeout: float = 0.0, max_records: int = 100_000, headers: bool = False) -> pa.RecordBatch:
        """The same as a pyarrow.RecordBatch; one without rows at the timeout.

        Columns, all nullable: key binary, value binary, topic string, partition int32, offset int64, timestamp
        timestamp[us, UTC], timestamp_type int32 and, with `headers`, headers list<struct<key: string, value: binary>>.
        """
        self._enter()
        try:
            found = run(self._core.poll(self._soon(timeout), lambda: self._core.take_arrow(max_records, headers)))
            return found if found is not None else arrow_schema(headers).empty_table().to_batches()[0]
        finally:
            self._user = None

    def __iter__(self) -> Iterator[Message]:
        """Records one by one; ends only with consumer_timeout_ms without a record, or where stop_at_end says."""
        limit = self.options["consumer_timeout_ms"]
        idle = None if limit is None else limit / 1000
        ends: dict[TopicPartition, int] | None = None
        if self.options["stop_at_end"]:
            ends = self.end_offsets(run(self._core.prepare_assignment(self._connection.deadline(None))))
        silent_since = self._connection.net.now()
        while ends is None or not self._core.at_end(ends):
            wait = 0.5 if idle is None else min(0.5, silent_since + idle - self._connection.net.now())
            found = self.poll(timeout=max(0.0, wait), max_records=1)
            if found:
                yield found[0]
                silent_since = self._connection.net.now()
            elif idle is not None and self._connection.net.now() - silent_since >= idle:
                return

    def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = 1_048_576, timeout: float | None = None
    ) -> list[Message]:
        """One fetch from an offset on, beside the positions of this consumer and without an assignment."""
        tp = TopicPartition(topic, partition)
        return run(self._core.fetch(tp, offset, max_bytes, self._connection.deadline(timeout)))

    # ---- offsets

    def position(self, tp: TopicPartition | tuple[str, int], *, timeout: float | None = None) -> int:
        """The offset of the next record that `poll` returns of the partition."""
        with self._alone():
            return run(self._core.position(TopicPartition(*tp), self._connection.deadline(timeout)))

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset that each partition still has."""
        return self._ends(partitions, EARLIEST, timeout)

    def end_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset that each partition's next record will get."""
        return self._ends(partitions, LATEST, timeout)

    def offsets_for_times(
        self, times: Mapping[TopicPartition | tuple[str, int], int], *, timeout: float | None = None
    ) -> dict[TopicPartition, Found | None]:
        """The first (offset, timestamp) at or after a time, in milliseconds, in each partition; None where there is none."""
        asked = {TopicPartition(*tp): time for tp, time in times.items()}
        return run(self._core.offsets_for_times(asked, self._connection.deadline(timeout)))

    def lag(self, *, timeout: float | None = None) -> dict[TopicPartition, int]:
        """How many offsets each assigned partition has that were not returned yet."""
        ends = self.end_offsets(self.assignment(), timeout=timeout)
        return {tp: end - self.position(tp, timeout=timeout) for tp, end in ends.items()}

    # ---- end

    def close(self) -> None:
        """Read nothing more. Idempotent."""
        self._core.close()
        if self._own_connection:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _ends(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], which: int, timeout: float | None
    ) -> dict[TopicPartition, int]:
        asked = [TopicPartition(*tp) for tp in partitions]
        return run(self._core.ends(asked, which, self._connection.deadline(timeout)))

    def _soon(self, timeout: float) -> float:
        return self._connection.net.now() + timeout

    def _enter(self) -> None:
        me = threading.get_ident()
        if self._user not in (None, me):
            raise ConcurrentUseError("this consumer is in use by another thread: give each thread its own")
        self._user = me

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            # A plain store: an interrupt here must not keep the consumer locked.
            self._user = None

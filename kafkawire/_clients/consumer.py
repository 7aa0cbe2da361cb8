"""Base of the blocking and the asyncio Consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Never, Self

from kafkawire._clients.arguments import SomePartition, partition_of, partitions_of
from kafkawire._clients.offset_queries import OffsetQueriesBase
from kafkawire.config import ConsumerOptions, forget_secrets, from_properties
from kafkawire.core.arguments import check_range
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.errors import ConcurrentUseError
from kafkawire.events import Event
from kafkawire.message import TopicPartition

__all__ = ["ConsumerBase"]


class ConsumerBase(OffsetQueriesBase):
    """Owns the core of a consumer, keeps a second thread or task out, and has the calls that never wait."""

    def _setup(self, options: ConsumerOptions, topics: Sequence[str]) -> None:
        """Make the core; the last step of the constructor, once `_connection` is set."""
        forget_secrets(options)
        self.options = options
        self._servers = options["bootstrap_servers"]
        self._core = ConsumerCore(self._connection.client, options, topics)
        self._user: object = None
        self._next_ends: dict[TopicPartition, int] | None = None
        """End of the run of `next()` calls, from the first until StopIteration; written by the thread or task that calls."""
        self._open = True

    def _drop(self) -> bool:
        net = self._connection.net
        if net.closed:
            return False
        net.finalize(self._core.close)
        return True

    @classmethod
    def from_properties(cls, *topics: str | Iterable[str], properties: Mapping[str, Any]) -> Self:
        """Make a consumer from Kafka properties.

        Args:
            topics: Names of the topics to read, as in the constructor.
            properties: Names with dots -> values, which may be text, as in a properties file.

        Returns:
            The consumer. Nothing is connected before the first call that needs a broker.

        Raises:
            ConfigurationError: A property is unknown, contradictory or out of range.

        Example:
            >>> properties = {"bootstrap.servers": "localhost:9092", "auto.offset.reset": "earliest"}
            >>> consumer = Consumer.from_properties("flights", properties=properties)
        """
        return cls(*topics, **from_properties(ConsumerOptions, properties))

    # ---- reading

    def poll(  # noqa: D417 - no argument is right for the others
        self, *misplaced: Never, timeout: float = 0.0, max_records: int | None = None, **unknown: Never
    ) -> Any:
        """Return records of all partitions that are read, as soon as there are any.

        Args:
            timeout: Seconds to wait for the first record.
            max_records: The most records to return; max_poll_records if None.

        Returns:
            list[Message]: The records, in order within a partition; [] if none came in time.

        Raises:
            UnknownTopicError: There is no such topic.
            OffsetOutOfRangeError: The partition has no such offset, and auto_offset_reset is "none".
            CorruptRecordsError: A batch is damaged. The position stays before it: `seek` past it to go on.
            DeserializationError: A deserializer raised. The position stays before the record.
            BrokerError: A broker refuses the request, as AuthorizationError for want of a permission.
            BootstrapError: No broker has ever answered.
            ConfigurationError: No topic was named and no partition assigned.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> messages = consumer.poll(timeout=10, max_records=100)
            >>> [message.value for message in messages]
            [b'EWR-IAH', b'LGA-IAH']
        """
        raise NotImplementedError

    def poll_arrow(self, *, timeout: float = 0.0, max_records: int = 100_000, headers: bool = False) -> Any:
        """Return records of all partitions that are read as Arrow columns, without an object for each record.

        Args:
            timeout: Seconds to wait for the first record.
            max_records: The most rows to return.
            headers: True for a column of headers, list<struct<key: string, value: binary>>.

        Returns:
            pyarrow.RecordBatch: The columns key (binary), value (binary), topic (string), partition (int32), offset (int64),
            timestamp (timestamp[us, UTC]) and timestamp_type (int32), all nullable; no rows if none came in time. Deserializers
            are not called.

        Raises:
            KafkaError: Any error that `poll` raises.
            MissingDependencyError: pyarrow is not installed.

        Example:
            >>> table = consumer.poll_arrow(timeout=10)
            >>> table.column("value").to_pylist()
            [b'EWR-IAH', b'LGA-IAH']
        """
        raise NotImplementedError

    def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = 1_048_576, timeout: float | None = None
    ) -> Any:
        """Read once from an offset, without changing positions or the assignment.

        Args:
            topic: Name of the topic.
            partition: Number of the partition.
            offset: First offset to return.
            max_bytes: Size that the answer aims at; a first batch that is larger comes whole.
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            list[Message]: The records from there; [] at the end of the partition, after fetch_max_wait_ms.

        Raises:
            OffsetOutOfRangeError: The partition has no such offset.
            UnknownTopicError: There is no such topic.
            CorruptRecordsError: The first batch is damaged.
            DeserializationError: A deserializer raised.
            NetworkError: The leader could not be reached in time.
            TimedOut: The leader did not answer in time.
            ClosedError: The consumer is closed.

        Example:
            >>> messages = consumer.fetch("flights", 0, offset=1, timeout=10)
            >>> [message.value for message in messages]
            [b'LGA-IAH']
        """
        raise NotImplementedError

    # ---- assignment

    def assign(self, partitions: Iterable[SomePartition]) -> None:
        """Read these partitions and no others, in place of the constructor's topics too.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number. Those that were read before keep their position, the
                others begin where auto_offset_reset says.

        Raises:
            ConfigurationError: An item is not a partition.
            TypeError: The argument cannot be iterated over.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.assign([("flights", 0)])
        """
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.assign(chosen)

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read. Does not wait.

        Returns:
            The partitions that were assigned, or those of the constructor's topics, once a call has made them known.

        Example:
            >>> consumer.assign([("flights", 0)])
            >>> consumer.assignment()
            {TopicPartition(topic='flights', partition=0)}
        """
        return self._core.assignment()

    def seek(self, tp: SomePartition, where: int | str) -> None:
        """Go on reading a partition at another position.

        Args:
            tp: The partition, a TopicPartition or a pair of a topic and a number.
            where: An offset, "earliest", "latest", or "tail:N" for N records before the end.

        Raises:
            ConfigurationError: The partition is not read, or `where` is none of these.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.seek(("flights", 0), 1)
            >>> consumer.seek(("flights", 0), "tail:100")
        """
        with self._alone():
            self._core.seek(partition_of(tp), where)

    def seek_to_beginning(self, *partitions: SomePartition) -> None:
        """Go on reading at the first offset that each partition still has.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number; all that are read if there are none.

        Raises:
            ConfigurationError: A partition is not read.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.seek_to_beginning(("flights", 0))
        """
        self._seek_each(partitions, "earliest")

    def seek_to_end(self, *partitions: SomePartition) -> None:
        """Go on reading at the end of each partition, with the next record that is written there.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number; all that are read if there are none.

        Raises:
            ConfigurationError: A partition is not read.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.seek_to_end()
        """
        self._seek_each(partitions, "latest")

    def pause(self, *partitions: SomePartition) -> None:
        """Return no records of these partitions until `resume`. Their positions stay.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number.

        Raises:
            ConfigurationError: A partition is not read.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.pause(("flights", 0))
        """
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.pause(chosen)

    def resume(self, *partitions: SomePartition) -> None:
        """Go on with partitions from the position at which they were paused.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number.

        Raises:
            ConfigurationError: A partition is not read.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.pause(("flights", 0))
            >>> consumer.resume(("flights", 0))
        """
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.resume(chosen)

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused. Does not wait.

        Example:
            >>> consumer.pause(("flights", 0))
            >>> consumer.paused()
            {TopicPartition(topic='flights', partition=0)}
        """
        return self._core.paused()

    def events(self) -> list[Event]:
        """Return what has happened to positions and topics since the last call. Does not wait.

        Returns:
            The newest thousand events, oldest first: PositionReset and TopicRecreated, of `kafkawire.events`. Each is logged
            too, as a warning of the logger "kafkawire.consumer".

        Raises:
            ConcurrentUseError: Another thread or task is using the consumer.

        Example:
            >>> from kafkawire.events import PositionReset
            >>> for event in consumer.events():
            ...     if isinstance(event, PositionReset):
            ...         print(event.topic, event.partition, event.position, event.reason)
        """
        with self._alone():
            return self._core.events()

    def close(self, timeout: float | None = None) -> Any:
        """End the consumer; an idempotent call.

        Args:
            timeout: Accepted as other clients have it. Closing waits for nothing.

        Example:
            >>> consumer.close()
        """
        raise NotImplementedError

    # ---- for the blocking and the asyncio Consumer

    def _seek_each(self, partitions: Iterable[SomePartition], where: str) -> None:
        chosen = partitions_of(partitions)
        with self._alone():
            if chosen:
                self._core.seek_each(chosen, where)
            else:
                self._core.seek_all(where)

    def _most(self, max_records: int | None) -> int:
        """Return the record limit of a call, max_poll_records if None. Raises TypeError or ConfigurationError."""
        if max_records is None:
            return self.options["max_poll_records"]
        check_range("max_records", max_records, 0)
        return max_records

    def _caller(self) -> object:
        """Return the identity of the calling thread or task."""
        raise NotImplementedError

    def _enter(self) -> None:
        caller = self._caller()
        if self._user is not None and self._user != caller:
            raise ConcurrentUseError("this consumer is in use by another thread or task: give each its own")
        self._user = caller

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            # A plain store, here and in the subclasses: an interrupt must not come between the end of a call and its result.
            self._user = None

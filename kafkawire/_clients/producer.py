"""Base of the blocking and the asyncio Producer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kafkawire._clients.connection import ConnectedBase
from kafkawire._clients.deliveries import DeliveryBase
from kafkawire._clients.live_producers import keep_until_sent
from kafkawire.config import ProducerOptions, forget_secrets, from_properties
from kafkawire.core.produce.batch import DeliveryCallback
from kafkawire.core.produce.deliveries import Counts
from kafkawire.core.produce.fast_append import no_short_append
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.message import Header

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ProducerBase"]


class ProducerBase(ConnectedBase):
    """Owns the core of a producer, and has the calls that never wait."""

    _delivery: ClassVar[type[DeliveryBase]]

    def _setup(self, options: ProducerOptions) -> None:
        """Make the core; the last step of the constructor, once `_connection` is set."""
        forget_secrets(options)
        self.options = options
        self._servers = options["bootstrap_servers"]
        self._core = ProducerCore(self._connection.client, options, self._delivery)
        self._append = self._core.accumulator.append
        self._short_append = self._core.accumulator.short_append if self._core.plain else no_short_append
        keep_until_sent(self._core.lifecycle, self._connection.net)
        self._open = True

    def _drop(self) -> bool:
        net = self._connection.net
        if net.closed:
            return False
        net.finalize(partial(self._core.lifecycle.finish, "the producer was dropped unclosed"))
        return True

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Self:
        """Make a producer from Kafka properties.

        Args:
            properties: Names with dots -> values, which may be text, as in a properties file.

        Returns:
            The producer. Nothing is connected before the first call that needs a broker.

        Raises:
            ConfigurationError: A property is unknown, contradictory or out of range.

        Example:
            >>> producer = Producer.from_properties({"bootstrap.servers": "localhost:9092", "linger.ms": "20"})
        """
        return cls(**from_properties(ProducerOptions, properties))

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Iterable[Header] | None = None,
        on_delivery: DeliveryCallback | None = None,
        timestamp_ms: int | None = None,
    ) -> Any:
        """Accept a record and send it in the background. Waits only for metadata and for room in the buffer.

        Args:
            topic: Name of the topic.
            value: bytes or None, or anything that value_serializer takes.
            key: bytes or None, or anything that key_serializer takes. Records with the same key go to the same partition.
            partition: Number of the partition; chosen by the key if None.
            timestamp: Milliseconds since the epoch; the time of the call if None.
            headers: Pairs of a name and bytes or None.
            on_delivery: Function that is called with (error, metadata), one of them None, when the record is acknowledged or
                failed: in a thread of the producer's own, with asyncio in the loop.
            timestamp_ms: Another name for `timestamp`, that of kafka-python and aiokafka.

        Returns:
            Delivery: The result, to be waited for or ignored.

        Raises:
            UnknownTopicError: There is no such topic after max_block_ms.
            BootstrapError: No broker has answered within max_block_ms.
            TimedOut: There was no room in buffer_memory within max_block_ms.
            MessageTooLargeError: The record exceeds max_request_size.
            ConfigurationError: The topic has no such partition, or an argument is out of range.
            TypeError: An argument is of a wrong type; key and value are bytes without a serializer.
            ClosedError: The producer is closed.

            After an error the record is not accepted. Errors of serializers come out as they are. Errors of sending are raised
            by the result, not here.

        Example:
            >>> delivery = producer.send("flights", b"EWR-IAH", key=b"UA", headers=[("source", b"radar")])
            >>> delivery.result(timeout=10)
            RecordMetadata(topic='flights', partition=0, offset=2, timestamp=...)
        """
        raise NotImplementedError

    def send_many(
        self,
        topic: str,
        values: Sequence[Any],
        keys: Sequence[Any] | None = None,
        partition: int | None = None,
        timestamps: Sequence[int] | None = None,
        headers: Sequence[Iterable[Header] | None] | None = None,
    ) -> Any:
        """Accept many records in one call, at less cost than as many calls of `send`.

        Args:
            topic: Name of the topic.
            values: One bytes or None for each record, or anything that value_serializer takes.
            keys: As many keys, in the same form; none if None.
            partition: Number of the partition for all; chosen by the keys if None.
            timestamps: As many times in milliseconds since the epoch; the time of the call if None.
            headers: For each record, pairs of a name and bytes or None, or None.

        Returns:
            BatchDelivery: The result of all of them.

        Raises:
            UnknownTopicError: There is no such topic after max_block_ms.
            BootstrapError: No broker has answered within max_block_ms.
            TimedOut: There was no room in buffer_memory within max_block_ms; the records before it are sent all the same.
            MessageTooLargeError: A record exceeds max_request_size; none is accepted.
            ConfigurationError: Columns differ in length, an item is of a wrong type, or the topic has no such partition. No
                record is accepted.
            TypeError: A column is not a sequence; none is accepted.
            ClosedError: The producer is closed.

        Example:
            >>> delivery = producer.send_many("flights", [b"EWR-IAH", b"LGA-IAH"], keys=[b"UA", b"UA"])
            >>> written = delivery.result(timeout=10)
            >>> [metadata.offset for metadata in written]
            [2, 3]
        """
        raise NotImplementedError

    def send_arrow(self, topic: str, table: pa.Table | pa.RecordBatch) -> Any:
        """Accept the rows of an Arrow table as records.

        Args:
            topic: Name of the topic.
            table: A column `value`, and any of `key` (both binary or string), `partition` (integers), `timestamp` (a timestamp,
                or integers in milliseconds since the epoch) and `headers` (lists of structs of a name and a value).

        Returns:
            BatchDelivery: The result of all rows.

        Raises:
            UnknownTopicError: There is no such topic after max_block_ms.
            BootstrapError: No broker has answered within max_block_ms.
            TimedOut: There was no room in buffer_memory within max_block_ms; the rows before it are sent all the same.
            MessageTooLargeError: A row exceeds max_request_size; none is accepted.
            ConfigurationError: A column is unknown or of a wrong type, or the topic has no such partition; none is accepted.
            TypeError: The table is not one of pyarrow.
            ClosedError: The producer is closed.

        Example:
            >>> import pyarrow
            >>> table = pyarrow.table({"key": [b"UA", b"UA"], "value": [b"EWR-IAH", b"LGA-IAH"]})
            >>> delivery = producer.send_arrow("flights", table)
            >>> written = delivery.result(timeout=10)
            >>> [metadata.offset for metadata in written]
            [2, 3]
        """
        raise NotImplementedError

    def flush(self, timeout: float | None = None) -> Any:
        """Send what is queued without waiting for linger_ms, and wait until every record accepted so far is done.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Raises:
            TimedOut: Some records are neither acknowledged nor failed after that time; they stay queued.

            Errors of records are raised by their results, not here.

        Example:
            >>> producer.flush(timeout=10)
        """
        raise NotImplementedError

    def counts(self) -> Counts:
        """Return the numbers of records so far. Does not wait.

        Returns:
            Counts: `accepted` is at any time the sum of `acknowledged`, `failed` and `queued`.

        Example:
            >>> producer.counts()
            Counts(accepted=0, acknowledged=0, failed=0, queued=0)
        """
        return self._core.counts()

    def close(self, timeout: float | None = None) -> Any:
        """Send what is queued, and end the producer; an idempotent call.

        Args:
            timeout: Seconds; default_api_timeout_ms if None. Records that are not acknowledged by then fail with ClosedError.

        Example:
            >>> producer.close(timeout=10)
        """
        raise NotImplementedError

    def abandon(self) -> Any:
        """End the producer at once: records that are queued fail with ClosedError.

        Example:
            >>> producer.abandon()
        """
        raise NotImplementedError

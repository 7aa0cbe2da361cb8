"""The blocking Producer, and the results of its deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Generic, Never, Unpack, cast

from kafkawire._clients.arguments import one_time, options_only
from kafkawire._clients.closing import Closing
from kafkawire._clients.connection import shared_options
from kafkawire._clients.deliveries import BatchDeliveryBase, DeliveryBase
from kafkawire._clients.help import with_options
from kafkawire._clients.producer import ProducerBase
from kafkawire.config import ProducerOptions
from kafkawire.connection import Connection, close_all, closed_on_error, connect_for
from kafkawire.core.arguments import seconds
from kafkawire.core.produce.batch import DeliveryCallback
from kafkawire.core.produce.deliveries import BatchCompletion, raise_failures, written_by
from kafkawire.errors import KafkaError, TimedOut
from kafkawire.foreign_methods import DELIVERY, PRODUCER, instead_of
from kafkawire.message import Header, RecordMetadata, SentK, SentV
from kafkawire.net.blocking import run

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

__all__ = ["BatchDelivery", "Delivery", "Producer"]


@instead_of(DELIVERY)
class Delivery(DeliveryBase):
    """Delivery result of one record, which `Producer.send` returns. Thread-safe."""

    __slots__ = ()

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged or failed.

        Args:
            timeout: Seconds; no limit if None, but the record fails after delivery_timeout_ms.

        Returns:
            The topic, partition, offset and timestamp of the record.

        Raises:
            TimedOut: The record is neither acknowledged nor failed after that time; it stays queued.
            DeliveryTimedOut: The record failed: it was not acknowledged within delivery_timeout_ms.
            BrokerError: The record failed: a broker refused it.
            ClosedError: The record failed: the producer was closed before it was sent.

        Example:
            >>> delivery = producer.send("flights", b"EWR-IAH", key=b"UA")
            >>> delivery.result(timeout=10)
            RecordMetadata(topic='flights', partition=0, offset=2, timestamp=...)
        """
        completion = self.completion
        if not completion.done:
            _wait(completion, timeout)
        return completion.result(self.index)

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """Wait until the record is acknowledged or failed, and return its error.

        Args:
            timeout: Seconds; no limit if None, but the record fails after delivery_timeout_ms.

        Returns:
            The error that `result` raises for a failed record; None if the record is acknowledged.

        Raises:
            TimedOut: The record is neither acknowledged nor failed after that time; it stays queued.

        Example:
            >>> delivery = producer.send("flights", b"EWR-IAH")
            >>> delivery.exception(timeout=10) is None
            True
        """
        completion = self.completion
        if not completion.done:
            _wait(completion, timeout)
        try:
            completion.result(self.index)
        except KafkaError as error:
            return error
        return None


@instead_of(DELIVERY)
class BatchDelivery(BatchDeliveryBase):
    """Delivery result of many records, which `Producer.send_many` and `Producer.send_arrow` return. Thread-safe."""

    def result(self, timeout: float | None = None) -> list[RecordMetadata]:
        """Wait until every record is acknowledged or failed.

        Args:
            timeout: Seconds; no limit if None, but each record fails after delivery_timeout_ms.

        Returns:
            The topic, partition, offset and timestamp of each record, in the order of the call.

        Raises:
            TimedOut: Some record is neither acknowledged nor failed after that time; it stays queued.
            DeliveryError: Some records failed; `failed` has the error of each, by its index in the call.

        Example:
            >>> delivery = producer.send_many("flights", [b"EWR-IAH", b"LGA-IAH"], partition=0)
            >>> written = delivery.result(timeout=10)
            >>> [metadata.offset for metadata in written]
            [2, 3]
        """
        limit = None if timeout is None else seconds(timeout)
        started = monotonic()
        for completion, _, _ in self._runs:
            if not completion.done:
                _wait(completion, None if limit is None else limit - (monotonic() - started))
        raise_failures(self._runs)
        return written_by(self._runs)


@with_options(ProducerOptions)
@instead_of(PRODUCER)
class Producer(ProducerBase, Closing, Generic[SentK, SentV]):
    """Sends records in a background thread. Thread-safe.

    Close it, or use it in a `with` statement. The end of that statement sends what is queued; if Ctrl-C is the reason,
    records that are queued fail at once.

    A record fails when a broker refuses it for good, or delivery_timeout_ms after its `send`: never earlier, and at most
    linger_ms and a twentieth of the timeout later. Its `Delivery` and its `on_delivery` have the error. Failures that no one
    asks for are logged to `kafkawire.producer`: a WARNING with their number for each topic and error, at most every 30 s. The
    end of the `with` statement raises DeliveryError for them, unless another exception ends it or the producer was closed
    inside. `close` logs a last WARNING for failures that were not logged yet.

    At the end of the interpreter, records of a producer that was not closed are sent for up to exit_flush_timeout_ms, and a
    WARNING says how many were not. This happens after the end of the script, `sys.exit`, Ctrl-C or another exception, once all
    threads but daemons have ended; not after `os._exit`, and not after SIGTERM unless a handler calls `sys.exit`. A producer
    that is garbage-collected unclosed sends what is queued in the background, and a ResourceWarning names it.

    Args:
        connection: A connection to share, which brings its own options; the producer makes one if None.
        options: See below.

    Raises:
        ConfigurationError: An option is unknown, contradictory or out of range.
        TypeError: The connection is not a `kafkawire.Connection`.

    Example:
        >>> with Producer(bootstrap_servers="localhost:9092", linger_ms=20) as producer:
        ...     delivery = producer.send("flights", b"EWR-IAH", key=b"UA")
        >>> delivery.result().offset
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
        with closed_on_error(self._owned):
            self._setup(resolved)

    def send(
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
        if partition is None and timestamp is None and headers is None and on_delivery is None and timestamp_ms is None:
            delivery: Delivery | None = self._short_append(topic, value, key)
            if delivery is not None:
                return delivery
        time = one_time(timestamp, timestamp_ms)
        own_value, own_key, pairs = self._core.prepare(topic, value, key, partition, time, headers, on_delivery)
        delivery = self._append(topic, own_value, own_key, partition, time, pairs, on_delivery)
        if delivery is None:
            delivery = run(self._core.send(topic, own_value, own_key, partition, time, pairs, on_delivery))
        return cast(Delivery, delivery)

    def send_many(
        self,
        topic: str,
        values: Sequence[SentV | None],
        keys: Sequence[SentK | None] | None = None,
        partition: int | None = None,
        timestamps: Sequence[int] | None = None,
        headers: Sequence[Iterable[Header] | None] | None = None,
    ) -> BatchDelivery:
        columns = self._core.columns(values, keys, timestamps, headers)
        return BatchDelivery(run(self._core.send_columns(topic, columns, partition)))

    def send_arrow(self, topic: str, table: pa.Table | pa.RecordBatch) -> BatchDelivery:
        return BatchDelivery(run(self._core.send_arrow(topic, table)))

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> set[int]:
        return {partition.index for partition in self._connection.partitions(topic, timeout=timeout)}

    def flush(self, timeout: float | None = None) -> None:
        run(self._core.flush(self._connection.deadline(timeout)))

    def close(self, timeout: float | None = None) -> None:
        deadline = self._connection.deadline(timeout)
        self._open = False
        try:
            run(self._core.lifecycle.close(deadline))
        finally:
            close_all(self._owned)

    def abandon(self) -> None:
        self.close(timeout=0.0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        closes = not self._core.lifecycle.closing
        super().__exit__(kind, error, trace)
        if kind is None and closes:
            self._core.raise_losses()


def _wait(completion: BatchCompletion, timeout: float | None) -> None:
    if not run(completion.wait_for(None if timeout is None else seconds(timeout))):
        cause = completion.cause
        why = f". The last attempt: {cause}" if cause is not None else ""
        where = f"{completion.topic} partition {completion.partition}"
        raise TimedOut(f"{where}: not acknowledged in the time given; still queued{why}")

"""Batch writes: each task sends its Arrow batches through one producer and waits until all records are acknowledged."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kafkawire import Producer
from kafkawire.errors import ConfigurationError
from kafkawire.spark import worker
from kafkawire.spark.options import WriteOptions
from kafkawire.spark.schema import WRITABLE

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkawire.producer import BatchDelivery

__all__ = ["BatchWriter", "Written"]

log = logging.getLogger("kafkawire.spark")


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The records that a task wrote, by topic."""

    records: dict[str, int]


class BatchWriter(DataSourceArrowWriter):
    """Writes rows at least once: a task that is tried again writes all of its rows again."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        written: Counter[str] = Counter()
        with worker.producers.lend(self._options.client) as producer:
            sending = _Sending(producer)
            for batch in iterator:
                for topic, rows in by_topic(batch, self._options.topic):
                    sending.send(topic, rows)
                    written[topic] += rows.num_rows
            sending.finish()
        return Written(dict(written))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        log.info("wrote %s", _totals(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        log.warning("the write failed; tasks that succeeded wrote %s, which stays", _totals(messages))


class _Sending:
    """Records of one task that are sent and not yet acknowledged; the first error ends the task."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._failed_before = producer.counts().failed
        self._deliveries: list[BatchDelivery] = []

    def send(self, topic: str, rows: pa.RecordBatch) -> None:
        self._deliveries.append(self._producer.send_arrow(topic, rows))
        self._raise_failure()
        self._deliveries = [delivery for delivery in self._deliveries if not delivery.done()]

    def finish(self) -> None:
        self._producer.flush()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._producer.counts().failed > self._failed_before:
            for delivery in self._deliveries:
                delivery.result()


def by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows for each topic, as `Producer.send_arrow` takes them. `topic`, if there is one, overrides the column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: batch.column(name) for name in batch.schema.names if name in WRITABLE}
    topics = columns.pop("topic", None)
    if "timestamp" in columns:
        columns["timestamp"] = _milliseconds(columns["timestamp"])
    rows = pa.RecordBatch.from_pydict(columns)
    if topic is not None:
        yield topic, rows
        return
    if topics is None or topics.null_count:
        raise ConfigurationError("a row has no topic: use the option 'topic', or fill the column 'topic'")
    names = pc.unique(topics).to_pylist()
    for name in names:
        yield name, rows if len(names) == 1 else rows.filter(pc.equal(topics, name))


def _milliseconds(column: Any) -> Any:
    """Timestamps in milliseconds since the epoch, as Kafka has them; now where there is none."""
    import pyarrow as pa

    return column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64()).fill_null(time.time_ns() // 1_000_000)


def _totals(messages: Sequence[WriterCommitMessage | None]) -> str:
    totals: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, Written):
            totals.update(message.records)
    return ", ".join(f"{count} records to {topic}" for topic, count in sorted(totals.items())) or "nothing"

"""Batch reads: planned on the driver, then one range of offsets to a task, as Arrow batches."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafkawire import Consumer
from kafkawire.errors import BootstrapError
from kafkawire.spark import worker
from kafkawire.spark.options import ReadOptions
from kafkawire.spark.planner import plan
from kafkawire.spark.properties import split_options
from kafkawire.spark.ranges import OffsetRange
from kafkawire.spark.schema import read_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BatchReader", "read_range"]

POLL_SECONDS = 0.1
"""Seconds between looks for the end of a range that ends in offsets without records."""
BATCH_ROWS = 50_000
"""Rows of an Arrow batch: more 100-byte records than one Fetch brings, since cutting fetches up costs a fifth of the time."""


class BatchReader(DataSourceReader):
    """Reader of a batch. Spark pickles it before `partitions` is called, so the ranges are in the partitions."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(found) for found in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:  # Spark calls so for a read without partitions
            return
        options = self._options
        names = read_schema(headers=options.headers).names
        shared, own = split_options(options.client)
        with worker.connections.lend(shared) as connection, Consumer(connection=connection, **own) as consumer:
            for batch in read_range(consumer, partition.value, headers=options.headers, patience=options.poll_timeout):
                yield batch.rename_columns(names)


def read_range(consumer: Consumer, wanted: OffsetRange, *, headers: bool, patience: float) -> Iterator[pa.RecordBatch]:
    """The records of a range, all of them or an error.

    The consumer's position tells the end of the range: after compaction and around transactions the last offsets may have no
    record. Raises OffsetOutOfRangeError for records that are gone, TimeoutError after `patience` seconds in which
    nothing came (BootstrapError where no broker could be reached at all), or what the client raises.
    """
    consumer.assign([wanted.tp])
    consumer.seek(wanted.tp, wanted.start)
    position, moved_at = wanted.start, time.monotonic()
    while position < wanted.end:
        try:
            batch = consumer.poll_arrow(timeout=POLL_SECONDS, max_records=BATCH_ROWS, headers=headers)
        except BootstrapError:  # a new connection that has not reached a broker yet
            if time.monotonic() - moved_at >= patience:
                raise
            continue
        reached = consumer.position(wanted.tp)
        if reached > position:
            position, moved_at = reached, time.monotonic()
        elif time.monotonic() - moved_at >= patience:
            raise TimeoutError(
                f"{wanted.tp.topic} partition {wanted.tp.partition}: nothing at offset {position} (to read: up to {wanted.end})"
                f" in {patience:g} s; see the broker, or raise kafkaConsumer.pollTimeoutMs"
            )
        if batch.num_rows:
            yield batch if reached <= wanted.end else _before(batch, wanted.end)
            moved_at = time.monotonic()  # Spark may have held the batch for long


def _before(batch: pa.RecordBatch, end: int) -> pa.RecordBatch:
    offsets = batch.column("offset")
    return batch.slice(0, bisect_left(offsets, end, key=lambda offset: offset.as_py()))

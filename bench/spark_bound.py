"""A Spark source that reads nothing: what Spark's own side costs, and so the most that a source written in Python can reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from bench.harness import Job

__all__ = ["ready_batches"]

BATCHES = 20
"""In each task."""


def ready_batches(session: SparkSession, job: Job) -> DataFrame:
    """As many rows as the job's topic has, with the schema of a read from Kafka; each task makes one batch and repeats it."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    from kafkawire.spark.schema import read_schema

    rows, size, tasks = job.count // (job.partitions * BATCHES), job.size, job.partitions

    class Reader(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(task) for task in range(tasks)]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            pool = os.urandom(rows * size)
            columns = [
                pa.nulls(rows, pa.binary()),
                pa.array([pool[at : at + size] for at in range(0, len(pool), size)], pa.binary()),
                pa.array(["topic"] * rows),
                pa.array([partition.value] * rows, pa.int32()),
                pa.array(range(rows), pa.int64()),
                pa.array([0] * rows, pa.timestamp("us", "UTC")),
                pa.array([0] * rows, pa.int32()),
            ]
            batch = pa.RecordBatch.from_arrays(columns, names=names)
            for _ in range(BATCHES):
                yield batch

    class ReadyBatches(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ready_batches"

        def schema(self) -> StructType:
            return read_schema(headers=False)

        def reader(self, schema: StructType) -> DataSourceReader:
            return Reader()

    names = read_schema(headers=False).names
    session.dataSource.register(ReadyBatches)
    return session.read.format("ready_batches").load()

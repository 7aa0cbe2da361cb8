"""A Spark batch read of a whole topic, local[2], into the noop sink and into an aggregate over the values.

The session is started, and the topic read a few times, before the clock runs: neither the start of a JVM, its compilation of
Spark, nor the start of Spark's Python workers is what is compared. Each query makes fresh clients.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from bench import poll_arrow
from bench.harness import Contender, Job, Row, Sample, Stopwatch, Topic
from bench.poll import LARGE, SMALL
from bench.settings import SPARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

__all__ = ["ROWS"]

WARM_UP = 4
"""Queries after which the next ones take no less time: measured, with 3 M rows each."""


def noop(job: Job) -> Sample:
    def query(frame: DataFrame) -> int:
        frame.write.format("noop").mode("overwrite").save()
        return job.count

    return _timed(job, query)


def aggregate(job: Job) -> Sample:
    def query(frame: DataFrame) -> int:
        row = frame.selectExpr("count(*) as rows", "sum(length(value)) as bytes").first()
        if row is None or row.bytes != row.rows * job.size:
            raise ValueError(f"not {job.count} records of {job.size} bytes: {row}")
        return int(row.rows)

    return _timed(job, query)


def _timed(job: Job, query: Callable[[DataFrame], int]) -> Sample:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").appName("bench").config(map=SPARK).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.format("kafkawire").option("kafka.bootstrap.servers", job.bootstrap).option("subscribe", job.topic)
    for _ in range(WARM_UP):
        query(frame.load())
    watch = Stopwatch()
    return Sample(query(frame.load()), watch.read())


def _row(title: str, run: Callable[[Job], Sample], job: Job) -> Row:
    peer = Contender("poll_arrow()", poll_arrow.kafkawire, "pyarrow", goal=0.66)
    return Row("spark_read", f"{title}, {job.size} B", job, [Contender("kafkawire.spark", run, "pyspark"), peer], Topic.FILLED)


ROWS = [
    _row("Spark read to noop", noop, SMALL),
    _row("Spark read to an aggregate", aggregate, SMALL),
    _row("Spark read to noop", noop, LARGE),
    _row("Spark read to an aggregate", aggregate, LARGE),
]

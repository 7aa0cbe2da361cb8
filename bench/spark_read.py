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
from bench.spark_bound import ready_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ROWS"]

WARM_UP = 4
"""Queries after which the next ones take no less time: measured, with 3 M rows each."""


def noop(job: Job) -> Sample:
    return _timed(job, _to_noop, _kafka)


def aggregate(job: Job) -> Sample:
    return _timed(job, _to_aggregate, _kafka)


def ready_noop(job: Job) -> Sample:
    return _timed(job, _to_noop, ready_batches)


def ready_aggregate(job: Job) -> Sample:
    return _timed(job, _to_aggregate, ready_batches)


def _to_noop(frame: DataFrame, job: Job) -> int:
    frame.write.format("noop").mode("overwrite").save()
    return job.count


def _to_aggregate(frame: DataFrame, job: Job) -> int:
    row = frame.selectExpr("count(*) as rows", "sum(length(value)) as bytes").first()
    if row is None or row.bytes != row.rows * job.size:
        raise ValueError(f"not {job.count} records of {job.size} bytes: {row}")
    return int(row.rows)


def _kafka(session: SparkSession, job: Job) -> DataFrame:
    reader = session.read.format("kafkawire").option("kafka.bootstrap.servers", job.bootstrap)
    return reader.option("subscribe", job.topic).load()


def _timed(job: Job, query: Callable[[DataFrame, Job], int], source: Callable[[SparkSession, Job], DataFrame]) -> Sample:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").appName("bench").config(map=SPARK).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for _ in range(WARM_UP):
        query(source(session, job), job)
    watch = Stopwatch()
    return Sample(query(source(session, job), job), watch.read())


def _row(title: str, run: Callable[[Job], Sample], ready: Callable[[Job], Sample], job: Job) -> Row:
    contenders = [
        Contender("kafkawire.spark", run, "pyspark"),
        Contender("poll_arrow()", poll_arrow.kafkawire, "pyarrow", goal=0.66),
        Contender("Spark alone", ready, "pyspark"),
    ]
    return Row("spark_read", f"{title}, {job.size} B", job, contenders, Topic.FILLED)


ROWS = [
    _row("Spark read to noop", noop, ready_noop, SMALL),
    _row("Spark read to an aggregate", aggregate, ready_aggregate, SMALL),
    _row("Spark read to noop", noop, ready_noop, LARGE),
    _row("Spark read to an aggregate", aggregate, ready_aggregate, LARGE),
]

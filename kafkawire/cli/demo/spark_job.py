"""The demo's steps in Spark: read the flights with `format("kafkawire")`, summarize them by carrier, write the summaries.

Run as `python -m kafkawire.cli.demo.spark_job FLIGHTS SUMMARIES`, two topics, with the `kafka.` options of the data source as
a JSON object on standard input. After each step it prints a line of JSON: null when the session is there, then the summaries,
then null when they are written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from kafkawire.cli.demo.data import COLUMNS, Carrier

__all__ = ["main"]

SPARK_TYPES = {int: "int", str: "string"}
SCHEMA = ", ".join(f"{name} {SPARK_TYPES[kind]}" for name, kind in COLUMNS.items())
SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",  # for 16 rows; the default is 200
    "spark.python.unix.domain.socket.enabled": "true",  # quicker than the loopback interface
}


def main(flights: str, summaries: str) -> None:
    client = json.load(sys.stdin)
    # Workers would take the first python3 of the PATH, which need not be the one of this virtual environment.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").appName("kafkawire demo").config(map=SETTINGS).getOrCreate()
    _report(None)
    carriers = summarize(spark, client, flights)
    _report(carriers)
    write(spark, client, summaries, carriers)
    _report(None)
    spark.stop()


def summarize(spark: SparkSession, client: Mapping[str, str], topic: str) -> list[Carrier]:
    """Read all flights and count them by carrier."""
    records = spark.read.format("kafkawire").options(**client).option("subscribe", topic).load()
    flights = records.select(F.from_json(records.value.cast("string"), SCHEMA).alias("flight")).select("flight.*")
    carriers = flights.groupBy("carrier").agg(F.count("*").alias("flights"), F.avg("dep_delay").alias("mean_delay"))
    return [Carrier(**row.asDict()) for row in carriers.collect()]


def write(spark: SparkSession, client: Mapping[str, str], topic: str, carriers: Sequence[Carrier]) -> None:
    """Write the summaries as JSON, keyed by carrier."""
    frame = spark.createDataFrame(carriers, "carrier string, flights long, mean_delay double")
    records = frame.selectExpr("carrier AS key", "to_json(struct(*), map('ignoreNullFields', 'false')) AS value")
    records.write.format("kafkawire").options(**client).option("topic", topic).mode("append").save()


def _report(result: Any) -> None:
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

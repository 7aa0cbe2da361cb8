"""The demo's steps in Spark: read the flights with `format("kafkawire")`, summarize them, write the summaries."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.cli.demo.data import COLUMNS, Carrier

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["lacking", "start", "summarize", "write"]

OLDEST_JAVA = 17
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


def lacking() -> str | None:
    """What is missing for Spark, and how to get it; None if it can run."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'kafkawire[spark]', and Java 17+"
    java = _java()
    if java is None:
        return "there is no Java: install Java 17+, and put it on the PATH or set JAVA_HOME"
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603 - the user's own java
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return f"{java} is too old ({shown.partition(chr(10))[0]}): install Java 17+, and put it on the PATH or set JAVA_HOME"
    return None


def _java() -> str | None:
    """The java that Spark's launcher takes."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(Path(home, "bin", "java") if home else "java")


def start() -> SparkSession:
    """A Spark session on two cores of this machine that leaves the terminal alone."""
    from pyspark.sql import SparkSession

    # Workers would take the first python3 of the PATH, which need not be the one of this virtual environment.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with _stderr_in_file():
        builder = SparkSession.builder.master("local[2]").appName("kafkawire demo").config(map=SETTINGS)
        spark = builder.getOrCreate()
    # PySpark's own handler would first ask the JVM to cancel, and log that the JVM did not answer.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


@contextmanager
def _stderr_in_file() -> Iterator[None]:
    """Give the JVM that is started here a file for its notices, which no setting silences; show it if the start fails."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        except Exception:
            file.seek(0)
            os.write(terminal, file.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def summarize(spark: SparkSession, servers: str, topic: str) -> list[Carrier]:
    """Read all flights and count them by carrier."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    records = spark.read.format("kafkawire").option("kafka.bootstrap.servers", servers).option("subscribe", topic).load()
    flights = records.select(F.from_json(records.value.cast("string"), SCHEMA).alias("flight")).select("flight.*")
    carriers = flights.groupBy("carrier").agg(F.count("*").alias("flights"), F.avg("dep_delay").alias("mean_delay"))
    return [Carrier(**row.asDict()) for row in carriers.collect()]


def write(spark: SparkSession, servers: str, topic: str, carriers: Sequence[Carrier]) -> None:
    """Write the summaries as JSON, keyed by carrier."""
    frame = spark.createDataFrame(carriers, "carrier string, flights long, mean_delay double")
    records = frame.selectExpr("carrier AS key", "to_json(struct(*), map('ignoreNullFields', 'false')) AS value")
    records.write.format("kafkawire").option("kafka.bootstrap.servers", servers).option("topic", topic).mode("append").save()

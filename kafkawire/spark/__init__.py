"""The PySpark data source: `spark.read.format("kafkawire")` and `df.write.format("kafkawire").mode("append")`, without a jar.

Options are those of Spark's own Kafka connector; rows have its columns. Spark finds the format by name where kafkawire is
installed on the driver; where it is not (a zip given to `addPyFile`, say), `register(spark)` makes it known.

Four things to know:

- `mode("append")` has to be written out: Spark's default mode does not exist for data sources in Python, and a topic cannot be
  overwritten. Streams are not in this release.
- Executors run `python3` from their PATH unless PYSPARK_PYTHON is set. With a driver in a virtual environment, set
  `os.environ["PYSPARK_PYTHON"] = sys.executable` before the session starts, or its tasks do not find kafkawire.
- Executors need kafkawire and pyarrow; without numpy they are slower.
- A task costs about half as much with `spark.python.unix.domain.socket.enabled=true`; a few large tasks are quicker than many
  small ones in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make the format known to a session. Call it after `addPyFile` or `addArtifacts`."""
    from kafkawire.spark.source import KafkaSource

    spark.dataSource.register(KafkaSource)

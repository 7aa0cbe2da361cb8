"""One Spark session and one mock cluster for all tests of the data source."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small session. It does not register the data source: Spark finds it by name."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # its workers would run another python3
        builder = SparkSession.builder.master("local[2, 2]").appName("kafkawire")  # two threads, two attempts for a task
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.python.unix.domain.socket.enabled": "true",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")  # tasks that are to fail would fill the log
        try:
            yield session
        finally:
            session.stop()


@pytest.fixture(scope="session")
def cluster() -> Iterator[MockCluster]:
    """Shared by the session: use topics of your own."""
    with MockCluster(brokers=3) as running:
        yield running


@pytest.fixture
def load(spark: SparkSession, cluster: MockCluster) -> Callable[..., DataFrame]:
    """`load(subscribe="t", ...)`, a DataFrame of the cluster's topics."""

    def load(**options: object) -> DataFrame:
        reader = spark.read.format("kafkawire").option("kafka.bootstrap.servers", cluster.bootstrap)
        return reader.options(**{name: str(value) for name, value in options.items()}).load()

    return load

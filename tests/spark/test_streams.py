"""Streams, which are not there yet."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark


def end_of(query):
    """Why a query ended that cannot go on."""
    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException) as failure:
        query.awaitTermination(60)
    return str(failure.value)


def test_reading_a_stream_says_that_there_are_none(spark, cluster, tmp_path):
    reader = spark.readStream.format("kafkawire").option("kafka.bootstrap.servers", cluster.bootstrap)
    frame = reader.option("subscribe", "t").load()
    message = end_of(frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start())
    assert "streaming is not in this release of kafkawire" in message
    assert "UnboundLocalError" not in message


def test_writing_a_stream_says_that_there_are_none(spark, cluster, tmp_path):
    frame = spark.readStream.format("rate").load().selectExpr("cast(value as string) as value")
    writer = frame.writeStream.format("kafkawire").option("kafka.bootstrap.servers", cluster.bootstrap).option("topic", "t")
    message = end_of(writer.option("checkpointLocation", str(tmp_path)).start())
    assert "streaming is not in this release of kafkawire" in message

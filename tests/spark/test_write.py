"""Batch writes through Spark."""

from __future__ import annotations

import pytest

from kafkawire import Consumer

pytestmark = pytest.mark.spark


@pytest.fixture
def save(cluster):
    """`save(frame, topic="t", ...)` appends a DataFrame."""

    def save(frame, mode="append", **options):
        writer = frame.write.format("kafkawire").mode(mode).option("kafka.bootstrap.servers", cluster.bootstrap)
        writer.options(**options).save()

    return save


def consume(cluster, topic):
    with Consumer(topic, bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as consumer:
        return sorted(consumer, key=lambda message: (message.partition, message.offset))


def test_every_column_arrives(spark, cluster, save):
    cluster.create_topic("written-a", 2)
    cluster.create_topic("written-b", 2)
    frame = spark.sql("""
        select * from values
            ('written-a', 'k1', cast('v1' as binary), 1, timestamp_millis(1700000000123),
                array(named_struct('key', 'h', 'value', cast('1' as binary)), named_struct('key', 'h', 'value', null))),
            ('written-a', null, null, 0, timestamp_millis(1700000000456), null),
            ('written-b', 'k2', cast('v2' as binary), 1, timestamp_millis(1700000000789), array())
        as t(topic, key, value, partition, timestamp, headers)
    """)
    save(frame.withColumn("other", frame.partition + 1))
    assert [message[:8] for message in consume(cluster, "written-a")] == [
        ("written-a", 0, 0, 1700000000456, 0, None, None, ()),
        ("written-a", 1, 0, 1700000000123, 0, b"k1", b"v1", (("h", b"1"), ("h", None))),
    ]
    assert [message[:8] for message in consume(cluster, "written-b")] == [
        ("written-b", 1, 0, 1700000000789, 0, b"k2", b"v2", ()),
    ]


def test_keys_choose_partitions_as_the_producer_does(spark, cluster, save, load):
    cluster.create_topic("by-key", 4)
    frame = spark.range(2000).selectExpr(
        "cast(id % 50 as string) as key", "cast(id as string) as value", "'elsewhere' as topic"
    )
    save(frame, topic="by-key", **{"kafka.compression.type": "lz4"})
    assert load(subscribe="by-key").select("value").distinct().count() == 2000
    cluster.create_topic("by-producer", 4)
    for key in range(50):
        cluster.produce("by-producer", "v", key=str(key))
    expected = {message.key: message.partition for message in consume(cluster, "by-producer")}
    assert {message.key: message.partition for message in consume(cluster, "by-key")} == expected


def test_missing_times_are_now(spark, cluster, save):
    cluster.create_topic("again")
    save(spark.sql("select 'a' as value"), topic="again")
    save(spark.sql("select 'b' as value, cast(null as timestamp) as timestamp"), topic="again")
    first, second = consume(cluster, "again")
    assert (first.value, second.value) == (b"a", b"b")
    assert second.timestamp >= first.timestamp


@pytest.mark.parametrize("mode", ["overwrite", "errorifexists", "ignore"])
def test_every_mode_but_append_is_refused(spark, cluster, save, mode):
    """The others by Spark itself, in the same way; errorifexists is what it takes if none is given."""
    from pyspark.errors import AnalysisException

    topic = f"mode-{mode}"
    cluster.create_topic(topic)
    message = r'mode\("overwrite"\) is not possible.*Use mode\("append"\)' if mode == "overwrite" else '"Append"'
    with pytest.raises(AnalysisException, match=message):
        save(spark.sql("select 'v' as value"), topic=topic, mode=mode)
    assert consume(cluster, topic) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select 'k' as key, 't' as topic", "'value' not found"),
        ("select 'v' as value", "option 'topic' is required"),
        ("select 1 as value, 't' as topic", "column 'value' must be a string or binary, not int"),
        ("select 'v' as value, 't' as topic, 1L as partition", "column 'partition' must be an int, not bigint"),
        ("select 'v' as value, 't' as topic, array('h') as headers", "column 'headers' must be array<struct"),
    ],
)
def test_columns_are_checked_when_the_query_is_planned(spark, save, query, message):
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=message):
        save(spark.sql(query))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select 'v' as value, cast(null as string) as topic", "a row has no topic"),
        ("select 'v' as value, 'single' as topic, 7 as partition", "topic 'single' has partitions 0 to 0"),
        ("select repeat('v', 2000) as value, 'single' as topic", "max.message.bytes"),
    ],
)
def test_rows_that_cannot_be_written_fail_the_query(spark, cluster, save, query, message):
    from pyspark.errors import PythonException

    if "single" not in cluster.call(lambda: set(cluster.cluster.topics)):
        cluster.create_topic("single", max_message_bytes=1000)
    with pytest.raises(PythonException, match=message):
        save(spark.sql(query))

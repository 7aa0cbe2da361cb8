"""Batch reads through Spark."""

from __future__ import annotations

import json

import pytest

from kafkawire import Consumer, Producer
from kafkawire.errors import ErrorCode
from kafkawire.protocol import records
from mockbroker import MockCluster
from mockbroker.records.formats import stamp_batch

pytestmark = pytest.mark.spark


def fill(cluster, topic, *, partitions=1, count=100, **options):
    """Make a topic of `count` records, b"0" to b"99", evenly over its partitions."""
    cluster.create_topic(topic, partitions)
    with Producer(bootstrap_servers=cluster.bootstrap, **options) as producer:
        for partition in range(partitions):
            producer.send_many(topic, [b"%d" % number for number in range(partition, count, partitions)], partition=partition)


def offsets(frame):
    """(partition, offset) of all rows, in order."""
    return sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


def append_end_of_transaction(cluster, topic, partition):
    """Put a control batch, which has an offset and no record, at the end of a partition."""
    record = records.encode_record(0, 0, b"\0\0\0\1", b"\0\0\0\0\0\0", ())
    marker = records.seal_batch([record], count=1, base_timestamp=0, max_timestamp=0, control=True, transactional=True)

    def append():
        kept = cluster.cluster.partition(topic, partition)
        kept.log.append(stamp_batch(next(records.read_batches(marker)), kept.log.log_end_offset, kept.leader_epoch, None))

    cluster.call(append)


def test_all_columns_are_what_a_consumer_reads(cluster, load):
    cluster.create_topic("columns", 3)
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for number in range(200):
            producer.send("columns", b"v%d" % number, key=b"k%d" % (number % 7), timestamp=1_700_000_000_000 + number)
        producer.send("columns", None, key=b"tombstone", headers=[("a", b"1"), ("a", None)])
        producer.send("columns", b"")
    with Consumer("columns", bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as consumer:
        expected = sorted(consumer, key=lambda message: (message.partition, message.offset))

    frame = load(subscribe="columns", includeHeaders="true")
    rows = frame.selectExpr("*", "unix_millis(timestamp) as ms").sort("partition", "offset").collect()
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    assert [(r.topic, r.partition, r.offset, r.ms, r.timestampType, r.key, r.value) for r in rows] == [m[:7] for m in expected]
    assert [None if r.headers is None else [tuple(h) for h in r.headers] for r in rows] == [
        list(m.headers) or None for m in expected
    ]


def test_without_headers_the_column_is_not_there(cluster, load):
    cluster.create_topic("empty", 2)
    frame = load(subscribe="empty")
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert frame.collect() == []


def test_a_plan_is_made_once(cluster, load):
    fill(cluster, "snapshot")
    frame = load(subscribe="snapshot")
    assert frame.count() == 100
    cluster.produce("snapshot", "later")
    assert frame.count() == 100
    assert load(subscribe="snapshot").count() == 101


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_codecs(cluster, load, codec):
    fill(cluster, codec, compression_type=codec)
    assert [row.value for row in load(subscribe=codec).sort("offset").collect()] == [b"%d" % number for number in range(100)]


def test_offsets_by_partition(cluster, load):
    fill(cluster, "ranges", partitions=3, count=30)
    starting = {"ranges": {"0": 2, "1": -2, "2": 9}}
    ending = {"ranges": {"0": 5, "1": 1, "2": -1}}
    frame = load(subscribe="ranges", startingOffsets=json.dumps(starting), endingOffsets=json.dumps(ending))
    assert offsets(frame) == [(0, 2), (0, 3), (0, 4), (1, 0), (2, 9)]


def test_offsets_by_time(cluster, load):
    cluster.create_topic("times", 2)
    for partition in (0, 1):
        for second in range(5):
            cluster.produce("times", "v", partition=partition, timestamp=1000 * second + partition)
    assert offsets(load(subscribe="times", startingTimestamp=3000, endingTimestamp=4001)) == [(0, 3), (0, 4), (1, 3)]
    by_partition = json.dumps({"times": {"0": 4000, "1": 9000}})
    frame = load(
        subscribe="times",
        startingOffsetsByTimestamp=by_partition,
        startingOffsetsByTimestampStrategy="latest",
        startingOffsets="x",
    )
    assert offsets(frame) == [(0, 4)]


def test_assigned_partitions_and_a_pattern(cluster, load):
    fill(cluster, "chosen-a", partitions=2, count=10)
    fill(cluster, "chosen-b", count=3)
    assert offsets(load(assign='{"chosen-a": [1]}')) == [(1, offset) for offset in range(5)]
    assert load(subscribePattern="osen-.").count() == 13
    assert load(subscribePattern="^osen").count() == 0


def test_min_partitions_split_ranges(cluster, load):
    fill(cluster, "split", count=1000)
    frame = load(subscribe="split", minPartitions=4)
    assert frame.rdd.getNumPartitions() == 4
    assert offsets(frame) == [(0, offset) for offset in range(1000)]


def test_offsets_without_records_end_a_range(cluster, load):
    fill(cluster, "gaps", count=10)
    append_end_of_transaction(cluster, "gaps", 0)
    assert load(subscribe="gaps", **{"kafkaConsumer.pollTimeoutMs": 5000}).count() == 10


def test_it_can_be_registered_too(spark, load, cluster):
    from kafkawire.spark import register

    register(spark)
    fill(cluster, "registered", count=3)
    assert load(subscribe="registered").count() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "One of the following options must be specified"),
        ({"subscribe": "t", "startingOffset": "latest"}, "did you mean 'startingOffsets'"),
        ({"subscribe": "not-there"}, "topic 'not-there' is not on the cluster"),
        ({"subscribe": "refused", "startingOffsets": '{"refused": {"0": 5}}'}, "startingOffsets: refused partition 0 at 5"),
        ({"subscribe": "refused", "startingTimestamp": "5"}, "refused partition 0 has no record at or after 5 ms"),
    ],
)
def test_mistakes_are_told_when_the_query_is_planned(cluster, load, options, message):
    from pyspark.errors import AnalysisException

    if "refused" not in cluster.call(lambda: set(cluster.cluster.topics)):
        cluster.create_topic("refused")
    frame = load(**options)
    with pytest.raises(AnalysisException, match=message):
        frame.count()


def test_the_schema_is_fixed(spark, cluster):
    from pyspark.errors import AnalysisException

    reader = spark.read.format("kafkawire").option("kafka.bootstrap.servers", cluster.bootstrap).option("subscribe", "t")
    with pytest.raises(AnalysisException, match="fixed schema"):
        reader.schema("value string").load().count()


def test_a_task_that_failed_is_tried_again(cluster, load):
    fill(cluster, "retried", count=10)
    fault = cluster.fail("Fetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="retried", times=1)
    assert load(subscribe="retried").count() == 10
    assert fault.fired == 1


def test_records_that_are_gone_are_an_error(cluster, load):
    from pyspark.errors import PythonException

    fill(cluster, "gone")
    frame = load(subscribe="gone")
    assert frame.count() == 100
    cluster.call(lambda: cluster.cluster.partition("gone", 0).log.delete_before(50))
    with pytest.raises(PythonException, match=r"OffsetOutOfRangeError.*gone partition 0"):
        frame.count()


def test_a_cluster_that_is_gone_is_an_error(load):
    from pyspark.errors import PythonException

    with MockCluster(brokers=1) as short_lived:
        fill(short_lived, "lost", count=10)
        options = {"kafka.bootstrap.servers": short_lived.bootstrap, "subscribe": "lost", "kafkaConsumer.pollTimeoutMs": 500}
        frame = load(**options)
        assert frame.count() == 10
    # The first attempt finds that its connection brings nothing, the second makes a new one in vain.
    with pytest.raises(PythonException, match="BootstrapError: no broker answered"):
        frame.count()


def test_a_leader_that_brings_nothing_is_an_error(cluster, load):
    from pyspark.errors import PythonException

    fill(cluster, "silent", count=10)
    frame = load(subscribe="silent", **{"kafkaConsumer.pollTimeoutMs": 500})
    fault = cluster.fail("Fetch", ErrorCode.NOT_LEADER_OR_FOLLOWER, topic="silent")
    with pytest.raises(PythonException, match="TimeoutError: silent partition 0: nothing at offset 0"):
        frame.count()
    fault.clear()
    assert frame.count() == 10

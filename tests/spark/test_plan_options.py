"""Options of the data source, without Spark."""

from __future__ import annotations

import pytest

from kafkawire import TopicPartition
from kafkawire.errors import ConfigurationError
from kafkawire.spark.offsets import EARLIEST, LATEST, Bound
from kafkawire.spark.options import ReadOptions, WriteOptions

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
SERVERS = {"kafka.bootstrap.servers": "broker:9092"}


def read(**options):
    return ReadOptions.parse({**SERVERS, "subscribe": "t", **options})


def test_defaults():
    options = read()
    assert options.subscription.topics == ("t",)
    assert (options.starting, options.ending) == (Bound("startingOffsets", EARLIEST), Bound("endingOffsets", LATEST))
    assert (options.min_partitions, options.max_records, options.headers, options.poll_timeout) == (None, None, False, 120.0)
    assert options.client["bootstrap_servers"] == "broker:9092"
    assert options.client["auto_offset_reset"] == "none"  # offsets that are gone are never passed over


def test_names_are_case_insensitive_and_values_are_trimmed():
    options = ReadOptions.parse({**SERVERS, "SUBSCRIBE": " a , b,,a ", "minpartitions": " 5 ", "INCLUDEHEADERS": "TRUE"})
    assert options.subscription.topics == ("a", "b")
    assert (options.min_partitions, options.headers) == (5, True)


def test_assign_and_pattern():
    assigned = ReadOptions.parse({**SERVERS, "assign": '{"b": [1, 0], "a": [2]}'}).subscription
    assert assigned.partitions == (TopicPartition("a", 2), TopicPartition("b", 0), TopicPartition("b", 1))
    pattern = ReadOptions.parse({**SERVERS, "subscribePattern": "top.*"}).subscription.pattern
    assert pattern is not None
    assert pattern.search("my-topic")


def test_kafka_properties_reach_the_client():
    options = read(**{"kafka.client.id": "job", "kafka.check.crcs": "false", "kafka.fetch.max.bytes": "1000"})
    assert (options.client["client_id"], options.client["check_crcs"], options.client["fetch_max_bytes"]) == (
        "job",
        False,
        1000,
    )
    written = WriteOptions.parse({**SERVERS, "topic": "t", "kafka.acks": "1", "kafka.compression.type": "lz4"})
    assert (written.topic, written.client["acks"], written.client["compression_type"]) == ("t", 1, "lz4")


@pytest.mark.parametrize(
    "name",
    [
        "groupIdPrefix",
        "fetchOffset.numRetries",
        "maxOffsetsPerTrigger",
        "kafka.group.id",
        "kafka.max.poll.records",
        "kafka.session.timeout.ms",
        "kafka.client.rack",
    ],
)
def test_options_of_jvm_jobs_that_have_no_effect_here(name):
    assert read(**{name: "5"}) == read()


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        ({"startingOffsets": "Earliest"}, Bound("startingOffsets", EARLIEST)),
        ({"startingOffsets": '{"t":{"0":23,"1":-2}}'}, Bound("startingOffsets", {FIRST: 23, SECOND: -2})),
        ({"startingOffsetsByTimestamp": '{"t":{"0":5}}'}, Bound("startingOffsetsByTimestamp", {FIRST: 5}, is_time=True)),
        ({"startingTimestamp": "7"}, Bound("startingTimestamp", 7, is_time=True)),
        (
            {"startingTimestamp": "7", "startingOffsetsByTimestamp": "{}", "startingOffsets": "latest"},
            Bound("startingTimestamp", 7, is_time=True),
        ),
    ],
)
def test_where_to_start(starting, expected):
    assert read(**starting).starting == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": "a", "assign": "{}"}, "Only one of the following options"),
        ({}, "One of the following options must"),
        ({"subscribe": " , "}, "no topics to subscribe to"),
        ({"subscribePattern": ""}, "pattern to subscribe to is empty"),
        ({"subscribePattern": "("}, "no regular expression"),
        ({"assign": "t"}, "assign: expected e.g."),
        ({"assign": '{"t": 1}'}, "assign: expected e.g."),
        ({"assign": '{"t": ["1"]}'}, "not all partitions"),
        ({"assign": "{}"}, "no partitions to assign"),
    ],
)
def test_exactly_one_way_to_say_what_is_read(options, message):
    with pytest.raises(ConfigurationError, match=message):
        ReadOptions.parse({**SERVERS, **options})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("startingOffsets", "latest", r"startingOffsets cannot be latest \(-1\) for a batch query"),
        ("startingOffsets", '{"t":{"0":-1}}', r"startingOffsets cannot be latest \(-1\) for a batch query"),
        ("endingOffsets", "earliest", r"endingOffsets cannot be earliest \(-2\) for a batch query"),
        ("endingOffsets", '{"t":{"0":-2}}', r"endingOffsets cannot be earliest \(-2\) for a batch query"),
        ("startingOffsets", '{"t":{"0":-3}}', "an offset is negative"),
        ("startingOffsets", "newest", "expected e.g."),
        ("startingOffsets", '{"t":{"zero":1}}', "no partition and number"),
        ("startingOffsets", '{"t":{"0":true}}', "no partition and number"),
        ("endingTimestamp", "2024-01-01", "whole milliseconds"),
        ("endingOffsetsByTimestamp", '{"t":{"0":-1}}', "times are milliseconds"),
        ("minPartitions", "0", "whole number above 0"),
        ("maxRecordsPerPartition", "many", "whole number above 0"),
        ("includeHeaders", "yes", "not one of true, false"),
        ("failOnDataLoss", "false", "not supported yet"),
        ("minPartition", "3", "did you mean 'minPartitions'"),
        ("path", "t", "take no path"),
        ("kafka.auto.offset.reset", "latest", "set startingOffsets"),
        ("kafka.value.deserializer", "x", "always bytes"),
        ("kafka.enable.auto.commit", "true", "commits no offsets"),
        ("kafka.isolation.level", "read_committed", "not supported yet"),
        ("kafka.fetch.max.byte", "1", r"kafka\.\*: unknown property 'fetch.max.byte': did you mean 'fetch.max.bytes'"),
        ("kafka.fetch.max.bytes", "big", "not a whole number"),
    ],
)
def test_mistakes_in_reads(name, value, message):
    with pytest.raises(ConfigurationError, match=message):
        read(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("topics", "t", "did you mean 'topic'"),
        ("topic", "", "topic is empty"),
        ("startingOffsets", "earliest", "unknown option"),
        ("kafka.key.serializer", "x", "always bytes"),
        ("kafka.transactional.id", "x", "not supported yet"),
        ("kafka.acks", "2", "acks"),
    ],
)
def test_mistakes_in_writes(name, value, message):
    with pytest.raises(ConfigurationError, match=message):
        WriteOptions.parse({**SERVERS, name: value})


@pytest.mark.parametrize("parse", [ReadOptions.parse, WriteOptions.parse])
def test_bootstrap_servers_are_required(parse):
    with pytest.raises(ConfigurationError, match=r"'kafka\.bootstrap\.servers' must be specified"):
        parse({"subscribe": "t"} if parse == ReadOptions.parse else {"topic": "t"})


def test_options_of_the_client_are_not_shown():
    assert "hush" not in repr(read(**{"kafka.ssl.password": "hush"}))

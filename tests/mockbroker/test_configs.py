"""Configurations, frame by frame: what is described, where it comes from, how it is changed."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.alter_configs import AlterConfigsRequest
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkawire.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkawire.protocol.messages.list_config_resources import ListConfigResourcesRequest
from mockbroker.configs.definitions import known_configs
from tests.mockbroker.raw import MemoryMock

TOPIC, BROKER = 2, 4
OF_TOPIC, OF_BROKER, OF_ALL, STATIC, DEFAULT = range(1, 6)
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(client, kind, name, *keys, version=4, synonyms=True):
    resource = DescribeConfigsRequest.Resource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    (result,) = client.call(DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms), version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def described(client, kind, name, key):
    """Value, source and synonyms of one configuration."""
    (config,) = describe(client, kind, name, key).configs
    return config.value, config.config_source, [(each.name, each.value, each.source) for each in config.synonyms]


def alter(client, kind, name, *changes, version=1, validate_only=False):
    asked = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [asked.AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    request = IncrementalAlterConfigsRequest(
        resources=[asked(resource_type=kind, resource_name=name, configs=configs)], validate_only=validate_only
    )
    (answer,) = client.call(request, version).responses
    return ErrorCode.of(answer.error_code)


def replace(client, kind, name, configs, *, version=2, validate_only=False):
    asked = AlterConfigsRequest.Resource
    wanted = [asked.AlterableConfig(name=key, value=value) for key, value in configs.items()]
    request = AlterConfigsRequest(
        resources=[asked(resource_type=kind, resource_name=name, configs=wanted)], validate_only=validate_only
    )
    (answer,) = client.call(request, version).responses
    return ErrorCode.of(answer.error_code)


@pytest.fixture
def mock():
    mock = MemoryMock(2, config={"message.max.bytes": "2000000"})
    mock.cluster.create_topic("t", 1, configs={"retention.ms": "5"})
    return mock


@pytest.fixture
def client(mock):
    return mock.client()


def test_every_configuration_of_a_topic(mock, client):
    found = {config.name: config for config in describe(client, TOPIC, "t").configs}
    assert set(found) == set(known_configs(mock.cluster.profile.version).topic)
    assert not any(config.read_only or config.is_sensitive for config in found.values())
    assert (found["retention.ms"].value, found["retention.ms"].config_type) == ("5", 5)
    assert (found["cleanup.policy"].config_type, found["preallocate"].config_type) == (7, 1)


def test_every_configuration_of_a_broker(mock, client):
    found = {config.name: config for config in describe(client, BROKER, "1").configs}
    assert set(found) == set(known_configs(mock.cluster.profile.version).broker)
    assert (found["broker.id"].value, found["broker.id"].config_source) == ("1", STATIC)
    assert (found["num.partitions"].read_only, found["message.max.bytes"].read_only) == (True, False)
    assert (found["ssl.key.password"].is_sensitive, found["ssl.key.password"].value) == (True, None)
    assert describe(client, BROKER, "2").error_code == ErrorCode.INVALID_REQUEST  # only a broker knows its own
    assert [config.name for config in describe(client, BROKER, "").configs] == ["min.insync.replicas"]


def test_where_a_value_comes_from(client):
    default = ("message.max.bytes", "1048588", DEFAULT)
    static = ("message.max.bytes", "2000000", STATIC)
    assert described(client, TOPIC, "t", "retention.ms") == ("5", OF_TOPIC, [("retention.ms", "5", OF_TOPIC)])
    assert described(client, TOPIC, "t", "segment.ms") == ("604800000", DEFAULT, [])
    assert described(client, TOPIC, "t", "max.message.bytes") == ("2000000", STATIC, [static, default])
    assert alter(client, BROKER, "", ("message.max.bytes", SET, "3000")) == 0
    of_all = ("message.max.bytes", "3000", OF_ALL)
    assert described(client, BROKER, "1", "message.max.bytes") == ("3000", OF_ALL, [of_all, static, default])
    assert alter(client, BROKER, "1", ("message.max.bytes", SET, "4000")) == 0
    of_one = ("message.max.bytes", "4000", OF_BROKER)
    assert described(client, TOPIC, "t", "max.message.bytes") == ("4000", OF_BROKER, [of_one, of_all, static, default])
    assert alter(client, BROKER, "1", ("message.max.bytes", DELETE, None)) == 0
    assert alter(client, TOPIC, "t", ("max.message.bytes", SET, "1")) == 0
    own = ("max.message.bytes", "1", OF_TOPIC)
    assert described(client, TOPIC, "t", "max.message.bytes") == ("1", OF_TOPIC, [own, of_all, static, default])


def test_coarser_units():
    config = {"log.retention.minutes": "10", "log.retention.hours": "5", "log.roll.hours": "3"}
    mock = MemoryMock(config=config, topics={"t": 1})
    client = mock.client()
    assert mock.cluster.topic("t").config("segment.ms") == "10800000"
    hours = [("log.retention.hours", "5", STATIC), ("log.retention.hours", "168", DEFAULT)]
    minutes = [("log.retention.minutes", "10", STATIC), *hours]
    assert described(client, TOPIC, "t", "retention.ms") == ("600000", DEFAULT, [])  # given, but not under that name
    assert described(client, BROKER, "1", "log.retention.ms") == (None, DEFAULT, [])
    assert described(client, BROKER, "1", "log.retention.minutes") == ("10", STATIC, minutes)
    assert described(client, BROKER, "1", "log.retention.hours") == ("5", STATIC, hours)
    assert alter(client, BROKER, "1", ("log.retention.hours", SET, "7")) == ErrorCode.INVALID_REQUEST
    assert alter(client, BROKER, "1", ("log.retention.ms", SET, "7")) == 0
    of_one = ("log.retention.ms", "7", OF_BROKER)
    assert described(client, TOPIC, "t", "retention.ms") == ("7", OF_BROKER, [of_one, *minutes])
    assert described(client, BROKER, "1", "log.retention.hours") == ("168", STATIC, hours)


def test_times_without_end_have_no_unit():
    mock = MemoryMock(config={"log.retention.hours": "-1"}, topics={"t": 1})
    assert mock.cluster.topic("t").config("retention.ms") == "-1"


@pytest.mark.parametrize("version", range(5))
def test_versions_of_describe(version):
    mock = MemoryMock(version="3.9", topics={"t": 1})
    found = {config.name: config for config in describe(mock.client(), TOPIC, "t", version=version, synonyms=False).configs}
    one = found["retention.ms"]
    assert one.value == "604800000"
    assert not one.is_default  # which brokers since 2.7 have forgotten about
    assert one.config_source == (DEFAULT if version else -1)
    assert one.config_type == (5 if version >= 3 else 0)
    assert one.synonyms == []


def test_what_cannot_be_described(client):
    assert describe(client, TOPIC, "x").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert describe(client, TOPIC, "a b").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert describe(client, 3, "1").error_code == ErrorCode.INVALID_REQUEST
    assert [config.name for config in describe(client, TOPIC, "t", "no.such", "retention.ms").configs] == ["retention.ms"]


@pytest.mark.parametrize("version", range(3))
def test_replacing_drops_what_is_not_mentioned(mock, client, version):
    assert replace(client, TOPIC, "t", {"segment.ms": "7"}, version=version, validate_only=True) == 0
    assert mock.cluster.topic("t").configs == {"retention.ms": "5"}
    assert replace(client, TOPIC, "t", {"segment.ms": "7"}, version=version) == 0
    assert mock.cluster.topic("t").configs == {"segment.ms": "7"}
    assert replace(client, TOPIC, "t", {"segment.ms": "none"}, version=version) == ErrorCode.INVALID_CONFIG
    assert mock.cluster.topic("t").configs == {"segment.ms": "7"}


@pytest.mark.parametrize("version", [0, 1])
def test_every_operation(mock, client, version):
    configs = mock.cluster.topic("t").configs
    for change, expected in [
        (("segment.ms", SET, "7"), {"retention.ms": "5", "segment.ms": "7"}),
        (("retention.ms", DELETE, None), {"segment.ms": "7"}),
        (("retention.ms", DELETE, None), {"segment.ms": "7"}),
        (("cleanup.policy", APPEND, "compact"), {"segment.ms": "7", "cleanup.policy": "delete,compact"}),
        (("cleanup.policy", APPEND, "delete"), {"segment.ms": "7", "cleanup.policy": "delete,compact"}),
        (("cleanup.policy", SUBTRACT, "delete"), {"segment.ms": "7", "cleanup.policy": "compact"}),
    ]:
        assert alter(client, TOPIC, "t", change, version=version, validate_only=True) == 0
        assert alter(client, TOPIC, "t", change, version=version) == 0
        assert configs == expected


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([("retention.ms", APPEND, "5")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SUBTRACT, "5")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, "-2")], ErrorCode.INVALID_CONFIG),
        ([("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", 4, "1")], ErrorCode.UNKNOWN_SERVER_ERROR),
        ([("segment.ms", SET, "7"), ("remote.storage.enable", SET, "true")], ErrorCode.INVALID_CONFIG),
    ],
)
def test_refused_changes_change_nothing(mock, client, changes, error):
    assert alter(client, TOPIC, "t", *changes) == error
    assert mock.cluster.topic("t").configs == {"retention.ms": "5"}


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("1", ("num.partitions", SET, "4"), ErrorCode.INVALID_REQUEST),  # only at the start of a broker
        ("1", ("message.max.bytes", SET, "-1"), ErrorCode.INVALID_REQUEST),
        ("2", ("message.max.bytes", SET, "1"), ErrorCode.INVALID_REQUEST),
        ("one", ("message.max.bytes", SET, "1"), ErrorCode.INVALID_REQUEST),
        ("", ("min.insync.replicas", DELETE, None), ErrorCode.INVALID_CONFIG),
        ("1", ("of.a.plug-in", SET, "1"), ErrorCode.NONE),
    ],
)
def test_changes_of_brokers_that_are_refused(client, name, change, error):
    assert alter(client, BROKER, name, change) == error
    assert described(client, BROKER, "1", "message.max.bytes")[0] == "2000000"


def test_resources_that_cannot_be_changed(client):
    assert alter(client, TOPIC, "x") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(client, TOPIC, "") == ErrorCode.INVALID_REQUEST
    assert alter(client, 3, "1") == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("version", "kinds", "found"), [(0, [], []), (1, [TOPIC], [("t", TOPIC)]), (1, [16, 32], [])])
def test_listed_resources(client, version, kinds, found):
    response = client.call(ListConfigResourcesRequest(resource_types=kinds), version)
    assert [(one.resource_name, one.resource_type) for one in response.config_resources] == found


def test_all_listed_resources(client):
    response = client.call(ListConfigResourcesRequest(), 1)
    assert {(one.resource_type, one.resource_name) for one in response.config_resources} == {
        (TOPIC, "t"), (BROKER, "1"), (BROKER, "2"), (8, "1"), (8, "2"),
    }  # fmt: skip
    assert client.call(ListConfigResourcesRequest(resource_types=[5]), 1).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("version", "max_message_bytes", "least_segment", "has_zstd"),
    [("0.8.2", 1000012, 14, False), ("1.1", 1000012, 14, False), ("2.8", 1048588, 14, True), ("4.3", 1048588, 1048576, True)],
)
def test_configurations_are_those_of_the_version_played(version, max_message_bytes, least_segment, has_zstd):
    mock = MemoryMock(version=version)
    create = mock.cluster.create_topic
    create("t", configs={"segment.bytes": str(least_segment)})
    assert mock.cluster.topic("t").config("max.message.bytes") == str(max_message_bytes)
    with pytest.raises(BrokerError, match=f"at least {least_segment}"):
        create("u", configs={"segment.bytes": str(least_segment - 1)})
    with pytest.raises(BrokerError, match="Unknown topic config name") if version < "4" else nullcontext():
        create("v", configs={"compression.zstd.level": "3"})
    with nullcontext() if has_zstd else pytest.raises(BrokerError, match="must be one of: uncompressed, snappy, lz4, gzip"):
        create("w", configs={"compression.type": "zstd"})


@pytest.mark.parametrize(
    ("version", "error", "message", "found"),
    [
        ("0.11", ErrorCode.NONE, None, True),
        ("1.1", ErrorCode.NONE, None, True),
        ("2.0", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None, False),
        ("2.6", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None, False),
        ("2.7", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "", False),
        ("3.9", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "", False),
    ],
)
def test_a_topic_that_does_not_exist_is_described_as_each_version_does(version, error, message, found):
    client = MemoryMock(version=version, topics={"t": 1}).client()
    result = describe(client, TOPIC, "no", version=0, synonyms=False)
    assert (result.error_code, result.error_message, bool(result.configs)) == (error, message, found)
    here = describe(client, TOPIC, "t", "retention.ms", version=0, synonyms=False)
    assert (here.error_message, here.configs[0].is_default) == (message, version < "2.7")
    of_all = describe(client, BROKER, "", version=0, synonyms=False)
    assert of_all.error_code == (ErrorCode.INVALID_REQUEST if version == "0.11" else 0)


def test_where_a_broker_listens_is_static(client):
    for name in ("listeners", "advertised.listeners"):
        assert described(client, BROKER, "1", name)[:2] == ("PLAINTEXT://broker-1:9092", STATIC)


@pytest.mark.parametrize(
    ("version", "told", "source"), [("2.8", "-1", DEFAULT), ("3.3", "-60000", STATIC), ("4.3", "-60000", STATIC)]
)
def test_controllers_of_kraft_multiply_what_has_no_end(version, told, source):
    mock = MemoryMock(version=version, config={"log.retention.minutes": "-1"})
    asked = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    (made,) = mock.client().call(CreateTopicsRequest(topics=[asked]), 5).topics
    assert [(one.value, one.config_source) for one in made.configs if one.name == "retention.ms"] == [(told, source)]
    assert described(mock.client(), TOPIC, "t", "retention.ms")[0] == "-1"

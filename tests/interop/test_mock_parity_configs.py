"""The mock is configured as Kafka is: the same raw requests to both, compared field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockCluster
from tests.interop.brokers import NEWEST, real_broker
from tests.interop.parity import Questions, Scenarios, assert_same_answers, request
from tests.real.broker import SINGLE_BROKER

if TYPE_CHECKING:
    from tests.interop.parity import Broker

pytestmark = pytest.mark.real

scenario = Scenarios()


def resource(kind: int, name: str, keys: Any = None) -> dict[str, Any]:
    return {"resourceType": kind, "resourceName": name, "configurationKeys": keys}


VALUES = (
    *("", "abc", "-3", "0", "1.5", "true", "TRUE", "compact", "99999999999", "delete,compact", "delete,delete", " delete"),
    *("0:1,1:2", "*", "CreateTime", "gzip"),
)
JAVA_NUMBER = ("min.cleanable.dirty.ratio", "99999999999")  # told of as 9.9999999999E10


@scenario
def values_of_topic_configs(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    described = broker.do(request("DescribeConfigs", resources=[resource(2, name)]), 4)
    for config in sorted(one.name for one in described.results[0].configs):
        for value in VALUES:
            if (config, value) != JAVA_NUMBER:
                settings = [{"name": config, "value": value}]
                asked = {"name": name + "-2", "numPartitions": 1, "replicationFactor": 1, "configs": settings}
                broker.ask(request("CreateTopics", topics=[asked], timeoutMs=10000, validateOnly=True), 7)


@scenario
def described_configs(broker: Broker, name: str) -> None:
    broker.make_topic(name, retention_ms=5, max_message_bytes=77777)
    for synonyms in (False, True):
        asked = request("DescribeConfigs", resources=[resource(2, name)], includeSynonyms=synonyms)
        broker.ask(asked, 1, 2, 3, 4)
        keys = ["retention.ms", "no.such", "max.message.bytes"]
        broker.ask(request("DescribeConfigs", resources=[resource(2, name, keys)], includeSynonyms=synonyms), 1, 4)
    broker.ask(request("DescribeConfigs", resources=[resource(2, name, [])]), 4)
    broker.ask(request("DescribeConfigs", resources=[resource(2, name + "-no"), resource(2, "a/b"), resource(2, "")]), 1, 4)
    broker.ask(
        request("DescribeConfigs", resources=[resource(4, "9"), resource(4, "x"), resource(3, "1"), resource(0, "1")]), 4
    )
    broker.ask(request("DescribeConfigs", resources=[]), 4)


# Where the two are started differently.
UNLIKE = {
    "advertised.listeners", "controller.listener.names", "controller.quorum.voters", "default.replication.factor",
    "group.initial.rebalance.delay.ms", "listeners", "log.dir", "log.dirs", "process.roles",
}  # fmt: skip


@scenario
def described_broker_configs(broker: Broker, name: str) -> None:
    every = broker.do(request("DescribeConfigs", resources=[resource(4, "1")]), 4)
    alike = sorted({config.name for config in every.results[0].configs} - UNLIKE)
    for which in ("1", ""):
        broker.ask(request("DescribeConfigs", resources=[resource(4, which, alike)], includeSynonyms=True), 4)
    broker.ask(request("DescribeConfigs", resources=[resource(4, "1", ["message.max.bytes", "no.such"])]), 1, 4)


@scenario
def altered_topic_configs(broker: Broker, name: str) -> None:
    broker.make_topic(name)

    def alter(configs: Any, version: int = 2, *, validate: bool = False, topic: str = name, kind: int = 2) -> None:
        asked = {
            "resourceType": kind,
            "resourceName": topic,
            "configs": [{"name": key, "value": value} for key, value in configs],
        }
        broker.ask(request("AlterConfigs", resources=[asked], validateOnly=validate), version)
        if topic == name and kind == 2:
            broker.settle()
            broker.ask(request("DescribeConfigs", resources=[resource(2, name)], includeSynonyms=True), 4)

    alter([("retention.ms", "1")], validate=True)
    for version in range(3):
        alter([("retention.ms", str(version)), ("segment.ms", "1000")], version)
    alter([("segment.ms", "2000")])
    alter([("segment.ms", "0")])
    alter([("segment.ms", None)])
    alter([("no.such", "0")])
    alter([("segment.ms", "3000"), ("segment.ms", "4000")])
    alter([])
    alter([], topic=name + "-no")
    alter([("segment.ms", "1")], topic="")
    alter([], kind=3)
    alter([("x", "1")], kind=3, topic="1")


SET, DELETE, APPEND, SUBTRACT = range(4)


def incremental(broker: Broker, kind: int, name: str, *changes: Any, version: int = 1, validate: bool = False) -> None:
    configs = [{"name": key, "configOperation": operation, "value": value} for key, operation, value in changes]
    asked = {"resourceType": kind, "resourceName": name, "configs": configs}
    broker.ask(request("IncrementalAlterConfigs", resources=[asked], validateOnly=validate), version)


@scenario
def incrementally_altered_topic_configs(broker: Broker, name: str) -> None:
    broker.make_topic(name)

    def alter(*changes: Any, **options: Any) -> None:
        incremental(broker, 2, name, *changes, **options)
        broker.settle()
        broker.ask(request("DescribeConfigs", resources=[resource(2, name)], includeSynonyms=True), 4)

    alter(("retention.ms", SET, "1"), validate=True)
    alter(("retention.ms", SET, "1"), version=0)
    alter(("retention.ms", DELETE, None), ("segment.ms", SET, "1000"))
    alter(("retention.ms", DELETE, None))
    alter(("cleanup.policy", APPEND, "compact"))
    alter(("cleanup.policy", APPEND, "compact"))
    alter(("cleanup.policy", SUBTRACT, "delete"))
    alter(("cleanup.policy", SUBTRACT, "delete"))
    alter(("cleanup.policy", SUBTRACT, "compact"))
    alter(("cleanup.policy", SET, "bad"))
    alter(("retention.ms", APPEND, "5"))
    alter(("retention.ms", SUBTRACT, "5"))
    alter(("retention.ms", 9, "5"))
    alter(("retention.ms", SET, None))
    alter(("cleanup.policy", APPEND, None))
    alter(("retention.ms", SET, "abc"))
    alter(("no.such", SET, "abc"))
    alter(("no.such", DELETE, None))
    alter(("no.such", APPEND, "1"))
    alter(("retention.ms", SET, "1"), ("retention.ms", DELETE, None))
    alter(("leader.replication.throttled.replicas", APPEND, "0:1"), ("leader.replication.throttled.replicas", APPEND, "1:1"))
    alter(("leader.replication.throttled.replicas", APPEND, "0:1"))
    alter(("leader.replication.throttled.replicas", APPEND, "1:1"))
    alter()
    incremental(broker, 2, name + "-no", ("retention.ms", SET, "1"))
    incremental(broker, 2, "", ("retention.ms", SET, "1"))
    incremental(broker, 3, "1", ("retention.ms", SET, "1"))
    one = {"resourceType": 2, "resourceName": name, "configs": [{"name": "retention.ms", "configOperation": SET, "value": "9"}]}
    broker.ask(request("IncrementalAlterConfigs", resources=[one, one]), 1)


def wait_for(broker: Broker, config: str, value: str | None) -> None:
    """A broker hears of its configuration a little later."""
    for _ in range(10_000):
        one = broker.do(request("DescribeConfigs", resources=[resource(4, "1", [config])]), 4)
        if one.results[0].configs[0].value == value:
            return
    raise AssertionError(f"{config} never became {value}")


@scenario
def altered_broker_configs(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    keys = ["message.max.bytes", "log.retention.ms", "num.partitions", "log.cleanup.policy"]
    both = [resource(4, "1", keys), resource(4, "", keys), resource(2, name)]
    described = request("DescribeConfigs", resources=both, includeSynonyms=True)

    incremental(broker, 4, "", ("message.max.bytes", SET, "200000"), ("log.retention.ms", SET, "5000"))
    wait_for(broker, "message.max.bytes", "200000")
    broker.ask(described, 4)
    incremental(broker, 4, "1", ("message.max.bytes", SET, "300000"))
    incremental(broker, 4, "1", ("log.cleanup.policy", APPEND, "compact"))
    wait_for(broker, "log.cleanup.policy", "delete,compact")
    broker.ask(described, 4)
    incremental(broker, 4, "1", ("message.max.bytes", SET, "abc"))
    incremental(broker, 4, "1", ("num.partitions", SET, "4"))
    incremental(broker, 4, "", ("num.partitions", SET, "4"))
    incremental(broker, 4, "1", ("no.such", SET, "4"))
    incremental(broker, 4, "9", ("message.max.bytes", SET, "1"))
    incremental(broker, 4, "x", ("message.max.bytes", SET, "1"))
    incremental(broker, 4, "", ("min.insync.replicas", DELETE, None))
    no_such = {"resourceType": 4, "resourceName": "", "configs": []}
    broker.ask(request("AlterConfigs", resources=[no_such]), 2)
    incremental(broker, 4, "1", *((key, DELETE, None) for key in ("message.max.bytes", "no.such", "log.cleanup.policy")))
    wait_for(broker, "log.cleanup.policy", "delete")
    broker.ask(described, 4)
    incremental(broker, 4, "", ("message.max.bytes", DELETE, None), ("log.retention.ms", DELETE, None))
    wait_for(broker, "log.retention.ms", None)
    broker.ask(described, 4)


@scenario
def listed_config_resources(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    broker.ask(request("ListConfigResources"), 0)
    broker.ask(request("ListConfigResources", resourceTypes=[4]), 1)
    broker.ask(request("ListConfigResources", resourceTypes=[8]), 1)
    broker.ask(request("ListConfigResources", resourceTypes=[16, 32]), 1)
    broker.ask(request("ListConfigResources", resourceTypes=[3]), 1)
    found = broker.do(request("ListConfigResources", resourceTypes=[]), 1)
    broker.answers.append(("all", sorted({one.resource_type for one in found.config_resources})))


# Times in all the units that there are. Of the same thing the finest counts.
IN_COARSE_UNITS = {
    "log.flush.scheduler.interval.ms": "5000",
    "log.retention.hours": "5",
    "log.retention.minutes": "10",
    "log.roll.hours": "3",
    "log.roll.jitter.hours": "1",
    "log.roll.ms": "70000",
}


def configs_in_coarse_units(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    of_topic = ["flush.ms", "retention.ms", "segment.jitter.ms", "segment.ms"]
    of_broker = [*IN_COARSE_UNITS, "log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms"]
    resources = [resource(2, name, of_topic), resource(4, "1", of_broker), resource(4, "", of_broker)]
    described = request("DescribeConfigs", resources=resources, includeSynonyms=True)
    broker.ask(described, 4)
    asked = {"name": name + "-2", "numPartitions": 1, "replicationFactor": 1}
    broker.ask(request("CreateTopics", topics=[asked], timeoutMs=10000, validateOnly=True), 7)
    incremental(broker, 4, "", ("log.roll.ms", SET, "3000"), ("log.retention.ms", SET, "5000"))
    wait_for(broker, "log.retention.ms", "5000")
    broker.ask(described, 4)
    incremental(broker, 4, "1", ("log.flush.interval.ms", SET, "33"), ("log.retention.ms", SET, "9000"))
    wait_for(broker, "log.retention.ms", "9000")
    broker.ask(described, 4)
    incremental(broker, 4, "1", ("log.retention.hours", SET, "9"))
    incremental(broker, 4, "1", ("log.flush.interval.ms", DELETE, None), ("log.retention.ms", DELETE, None))
    wait_for(broker, "log.retention.ms", "5000")
    incremental(broker, 4, "", ("log.roll.ms", DELETE, None), ("log.retention.ms", DELETE, None))
    wait_for(broker, "log.retention.ms", None)
    broker.ask(described, 4)


def test_coarse_units() -> None:
    static = {**{name: str(value) for name, value in SINGLE_BROKER.items()}, **IN_COARSE_UNITS}
    named = {name.replace(".", "_"): value for name, value in IN_COARSE_UNITS.items()}
    with real_broker(NEWEST, **named) as real, MockCluster(1, config=static) as mock:
        assert_same_answers(real.bootstrap, mock.bootstrap, configs_in_coarse_units)


@pytest.mark.parametrize("questions", scenario.all, ids=lambda one: one.__name__)
def test_same_answers(twins: tuple[str, str], questions: Questions) -> None:
    assert_same_answers(*twins, questions)

"""The mock's topics and brokers are as Kafka's: the same raw requests to both, compared field by field."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire import protocol
from tests.interop.parity import Questions, Scenarios, assert_same_answers, request
from tests.mockbroker.raw import batch

if TYPE_CHECKING:
    from tests.interop.parity import Broker

pytestmark = pytest.mark.real

scenario = Scenarios()
NO_TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"
NOW = 1_700_000_000_000


@scenario
def created_topics(broker: Broker, name: str) -> None:
    def create(
        topic: str,
        *versions: int,
        validate: bool = True,
        count: int = 1,
        replicas: int = 1,
        configs: Any = (),
        assigned: Any = (),
    ) -> None:
        asked = {
            "name": topic, "numPartitions": count, "replicationFactor": replicas,
            "configs": [{"name": key, "value": value} for key, value in configs],
            "assignments": [{"partitionIndex": index, "brokerIds": ids} for index, ids in assigned],
        }  # fmt: skip
        broker.ask(request("CreateTopics", topics=[asked], timeoutMs=10000, validateOnly=validate), *versions)

    create(name, *range(2, 8))
    create(name, 7, validate=False, count=3, configs=[("retention.ms", "1000"), ("cleanup.policy", "compact,delete")])
    create(name, *range(2, 8))
    create(name + "-defaults", 7, validate=False, count=-1, replicas=-1)
    for bad in ("", ".", "..", "a/b", "x" * 250, name.replace("-", "_")):
        create(bad, 7)
    create(name + ".1", 7, validate=False)
    create(name + "_1", 7)
    for count, replicas in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2)):
        create(name + "-2", 7, count=count, replicas=replicas)
    manual: tuple[list[tuple[int, list[int]]], ...] = (
        [(0, [1])],
        [(1, [1])],
        [(0, [1]), (1, [1])],
        [(0, [1, 1])],
        [(0, [9])],
        [(0, [])],
        [(0, [1]), (0, [1])],
        [(0, [1]), (2, [1])],
    )
    for assigned in manual:
        create(name + "-2", 7, count=-1, replicas=-1, assigned=assigned)
    create(name + "-2", 7, assigned=[(0, [1])])
    create("__cluster_metadata", 7)
    for configs in (
        [("no.such", "1")],
        [("retention.ms", None)],
        [("retention.ms", "1"), ("retention.ms", "2")],
        [("segment.ms", ""), ("no", "1")],
    ):
        create(name + "-2", 7, configs=configs)
    twice = request(
        "CreateTopics", topics=[{"name": name + "-3", "numPartitions": 1, "replicationFactor": 1}] * 2, timeoutMs=1000
    )
    broker.ask(twice, 7)
    broker.ask(request("CreateTopics"), 7)


@scenario
def deleted_topics(broker: Broker, name: str) -> None:
    for version in range(1, 6):
        broker.make_topic(name)
        broker.ask(request("DeleteTopics", topicNames=[name, name + "-no"], timeoutMs=10000), version)
    broker.make_topic(name)
    broker.ask(request("DeleteTopics", topicNames=[name, name], timeoutMs=10000), 5)
    topic_id = protocol.to_dict(broker.do(request("Metadata", topics=[{"name": name}], allowAutoTopicCreation=False), 12))[
        "topics"
    ][0]["topicId"]
    broker.ask(request("DeleteTopics", topics=[{"name": name, "topicId": topic_id}], timeoutMs=10000), 6)
    broker.ask(
        request("DeleteTopics", topics=[{"name": None, "topicId": NO_TOPIC}, {"name": name + "-no"}], timeoutMs=10000), 6
    )
    broker.ask(request("DeleteTopics", topics=[{"name": None}], timeoutMs=10000), 6)
    broker.ask(request("DeleteTopics", topics=[{"name": None, "topicId": topic_id}, {"name": name}], timeoutMs=10000), 6)
    broker.ask(request("DeleteTopics", topics=[], timeoutMs=10000), 6)


@scenario
def added_partitions(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=2)

    def add(topic: str, count: int, assignments: Any = None, *, validate: bool = False, version: int = 3) -> None:
        asked = {
            "name": topic,
            "count": count,
            "assignments": None if assignments is None else [{"brokerIds": ids} for ids in assignments],
        }
        broker.ask(request("CreatePartitions", topics=[asked], timeoutMs=1000, validateOnly=validate), version)

    add(name, 3, validate=True)
    for version in range(4):
        add(name, 3 + version, version=version)
    for count in (6, 5, 0, -1):
        add(name, count)
    add(name, 7, [[1]])
    add(name, 8, [])
    add(name, 9, [[1], [1]])
    add(name, 9, [[9]])
    add(name, 9, [[]])
    add(name, 9, [[1, 1]])
    add(name + "-no", 9)
    asked = {"name": name, "count": 20, "assignments": None}
    broker.ask(request("CreatePartitions", topics=[asked, asked], timeoutMs=1000), 3)
    broker.settle()
    broker.ask(request("Metadata", topics=[{"name": name}]), 1, 7, 12)


@scenario
def metadata(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=2)
    broker.ask(request("Metadata", topics=[{"name": name}], allowAutoTopicCreation=False), *range(4, 14))
    broker.ask(request("Metadata", topics=[{"name": name}, {"name": name}]), 0, 1, 12)
    broker.ask(request("Metadata", topics=[]), 1, 12)
    broker.ask(request("Metadata", topics=[{"name": name + "-no"}], allowAutoTopicCreation=False), 4, 8, 12)
    broker.ask(request("Metadata", topics=[{"name": "a/b"}, {"name": ""}], allowAutoTopicCreation=True), 8)
    broker.ask(request("Metadata", topics=[{"name": None, "topicId": NO_TOPIC}], allowAutoTopicCreation=True), 12)
    broker.ask(request("Metadata", topics=[{"name": name}], includeTopicAuthorizedOperations=True), 8, 12)
    broker.ask(request("Metadata", topics=[], includeClusterAuthorizedOperations=True), 8, 10)
    broker.ask(request("DescribeCluster"), 0, 1, 2)
    broker.ask(request("DescribeCluster", endpointType=2), 1)
    broker.ask(request("DescribeCluster", endpointType=3), 1)
    broker.ask(request("DescribeCluster", includeClusterAuthorizedOperations=True, includeFencedBrokers=True), 2)


@scenario
def mistaken_for_another_broker(broker: Broker, name: str) -> None:
    """KIP-1242. What is advertised is compared elsewhere: the mock serves less."""
    cluster_id = broker.do(request("Metadata", topics=[]), 9).cluster_id
    software = {"clientSoftwareName": "parity", "clientSoftwareVersion": "1"}
    for version in range(5, broker.newest("ApiVersions") + 1):
        for who, node in product(("nobody", "this", "another", ""), (-1, 1, 2, 0, -2)):
            told = {"nobody": None, "this": cluster_id}.get(who, who)
            found = broker.do(request("ApiVersions", **software, clusterId=told, nodeId=node), version)
            answer = {"errorCode": found.error_code, "lists": bool(found.api_keys)}
            broker.answers.append((f"ApiVersions v{version} for broker {node} of cluster {who!r}", answer))


@scenario
def automatic_topics(broker: Broker, name: str) -> None:
    broker.ask(request("Metadata", topics=[{"name": name}]), 4)
    broker.ask(request("Metadata", topics=[{"name": name + "-2"}], allowAutoTopicCreation=True), 12)


@scenario
def topics_in_pages(broker: Broker, name: str) -> None:
    for topic, partitions in ((name + "-b", 3), (name + "-a", 2), (name + "-c", 1)):
        broker.make_topic(topic, partitions=partitions)
    names = [{"name": name + end} for end in ("-b", "-c", "-a", "-no")]
    broker.ask(request("DescribeTopicPartitions", topics=names), 0)
    for limit in (1, 2, 3, 4, 5, 6):
        broker.ask(request("DescribeTopicPartitions", topics=names, responsePartitionLimit=limit), 0)
        for topic, partition in (
            (name + "-a", 1),
            (name + "-b", 0),
            (name + "-b", 2),
            (name + "-b", 9),
            (name + "-aa", 0),
            (name + "-z", 0),
        ):
            cursor = {"topicName": topic, "partitionIndex": partition}
            broker.ask(request("DescribeTopicPartitions", topics=names, responsePartitionLimit=limit, cursor=cursor), 0)
    broker.ask(request("DescribeTopicPartitions", topics=names, responsePartitionLimit=0), 0)
    broker.ask(request("DescribeTopicPartitions", topics=names, cursor={"topicName": name, "partitionIndex": -1}), 0)
    broker.ask(request("DescribeTopicPartitions", topics=[{"name": "a/b"}, {"name": name + "-a"}, {"name": name + "-a"}]), 0)


@scenario
def leader_elections(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=2)
    for kind in (0, 1, 2):
        wanted = [{"topic": name, "partitions": [0, 1, 5]}, {"topic": name + "-no", "partitions": [0]}]
        broker.ask(request("ElectLeaders", electionType=kind, topicPartitions=wanted), *([0] if kind == 0 else []), 1, 2)
        broker.ask(request("ElectLeaders", electionType=kind, topicPartitions=[]), 2)
        broker.ask(request("ElectLeaders", electionType=kind, topicPartitions=[{"topic": name, "partitions": []}]), 2)


@scenario
def reassigned_partitions(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=2)

    def reassign(topic: str, partition: int, replicas: Any, version: int = 1, **options: Any) -> None:
        asked = [{"name": topic, "partitions": [{"partitionIndex": partition, "replicas": replicas}]}]
        broker.ask(request("AlterPartitionReassignments", topics=asked, **options), version)

    reassign(name, 0, [1], 0)
    for replicas in ([1], None, [], [9], [1, 1], [1, 9], [-1]):
        reassign(name, 0, replicas)
    reassign(name, 0, [1, 9], allowReplicationFactorChange=False)
    reassign(name, 7, [1])
    reassign(name + "-no", 0, [1])
    broker.ask(request("AlterPartitionReassignments"), 0, 1)
    broker.ask(request("ListPartitionReassignments"), 0)
    broker.ask(
        request(
            "ListPartitionReassignments",
            topics=[{"name": name, "partitionIndexes": [0, 9]}, {"name": name + "-no", "partitionIndexes": [0]}],
        ),
        0,
    )


@scenario
def log_directories(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=2)
    broker.fill(name, batch(b"a", timestamp=NOW))
    for indexes in ([0, 7], [1]):  # one that is there, since Kafka lists them in the order of a hash table
        wanted = [{"topic": name, "partitions": indexes}, {"topic": name + "-no", "partitions": [0]}]
        broker.ask(request("DescribeLogDirs", topics=wanted), 1, 2, 3, 4, 5)
    broker.ask(request("DescribeLogDirs", topics=[]), 1, 5)


@scenario
def described_producers(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    wanted = [{"name": name, "partitionIndexes": [0, 7]}, {"name": name + "-no", "partitionIndexes": [0]}]
    broker.ask(request("DescribeProducers", topics=wanted), 0)


@scenario
def internal_topics(broker: Broker, name: str) -> None:
    for topic in ("__consumer_offsets", "__transaction_state"):
        broker.do(request("Metadata", topics=[{"name": topic}], allowAutoTopicCreation=True), 9)
        broker.wait_for_leaders(topic, 4)
        broker.ask(request("Metadata", topics=[{"name": topic}]), 9)
        settings = {"resourceType": 2, "resourceName": topic, "configurationKeys": None}
        broker.ask(request("DescribeConfigs", resources=[settings], includeSynonyms=True), 4)


@pytest.mark.parametrize("questions", scenario.all, ids=lambda one: one.__name__)
def test_same_answers(twins: tuple[str, str], questions: Questions) -> None:
    assert_same_answers(*twins, questions)

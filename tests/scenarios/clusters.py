"""The two sides that a scenario runs against, a mock cluster and real brokers, with what only their owner can do."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, Protocol, Self

from mockbroker import MockCluster
from tests.interop.brokers import real_broker
from tests.interop.parity import Broker, request

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Mock", "Real", "Side"]

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "default.replication.factor": "1",
    "log.retention.ms": "-1",  # the records are of a time long ago, and must stay
}
"""Broker configuration of both sides."""


class Side(Protocol):
    """A cluster, which runs inside a with statement."""

    @property
    def bootstrap(self) -> str: ...

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Mapping[str, str] = {}) -> None: ...

    def restart_broker(self) -> None: ...

    def move_leader(self, topic: str, partition: int) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Mock:
    """A mock cluster."""

    def __init__(self, version: str, brokers: int = 1) -> None:
        self._mock = MockCluster(brokers, version=version, config=CONFIG)

    @property
    def bootstrap(self) -> str:
        return self._mock.bootstrap

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Mapping[str, str] = {}) -> None:
        self._mock.create_topic(topic, partitions, replication_factor=replication, **underscored(configs))

    def restart_broker(self) -> None:
        """Stop and start the first broker."""
        self._mock.brokers[1].restart()

    def move_leader(self, topic: str, partition: int) -> None:
        """Make another replica the leader."""
        leader = self._mock.leader(topic, partition)
        self._mock.move_leader(topic, partition, next(number for number in self._mock.brokers if number != leader))

    def __enter__(self) -> Self:
        self._mock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._mock.close()


class Real:
    """One real broker, or two."""

    def __init__(self, version: str, brokers: int = 1) -> None:
        config = dict(CONFIG)
        if version.startswith("0.8"):  # -1 is not for ever there
            del config["log.retention.ms"]
            config["log.retention.hours"] = "800000"
        self._brokers = [real_broker(version, **underscored(config))]
        if brokers == 2:
            self._brokers.append(real_broker(version, joins=self._brokers[0], **underscored(config)))
        self._stack = ExitStack()

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self._brokers)

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Mapping[str, str] = {}) -> None:
        assert replication == 1
        self._brokers[0].create_topic(topic, partitions, **underscored(configs))

    def restart_broker(self) -> None:
        """Stop it in good order and start it again."""
        self._brokers[0].stop()
        self._brokers[0].start()

    def move_leader(self, topic: str, partition: int) -> None:
        """Put the other replica first, and have the first elected."""
        with closing(Broker(self._brokers[0].bootstrap)) as broker:
            found = broker.do(request("Metadata", topics=[{"name": topic}]), 12).topics[0].partitions[partition]
            replicas = sorted(found.replica_nodes, key=lambda number: number == found.leader_id)
            moved = [{"partitionIndex": partition, "replicas": replicas}]
            broker.do(request("AlterPartitionReassignments", timeoutMs=5000, topics=[{"name": topic, "partitions": moved}]), 0)
            elected = [{"topic": topic, "partitions": [partition]}]
            answer = broker.do(request("ElectLeaders", electionType=0, timeoutMs=5000, topicPartitions=elected), 2)
        assert answer.error_code == answer.replica_election_results[0].partition_result[0].error_code == 0, answer

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for broker in self._brokers:
                stack.enter_context(broker)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def underscored(configs: Mapping[str, str]) -> dict[str, Any]:
    """Configurations as keywords."""
    return {name.replace(".", "_"): value for name, value in configs.items()}

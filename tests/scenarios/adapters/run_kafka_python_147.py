"""Steps by kafka-python 1.4.7, which is told the version of the broker. It runs in an environment of its own."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any

from kafka.admin import KafkaAdminClient, NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from tests.scenarios.adapters.kafka_python_steps import RANGE, ROUND_ROBIN, ClientSteps, refusal
from tests.scenarios.adapters.steps import serve


class Steps(ClientSteps):
    def __init__(self, api_version: str, bootstrap: str) -> None:
        assignors = {RANGE: RangePartitionAssignor, ROUND_ROBIN: RoundRobinPartitionAssignor}
        super().__init__(bootstrap, assignors, api_version=tuple(map(int, api_version.split("."))))

    def _committed(self, consumer: Any, at: Any) -> Any:
        # The public method keeps the metadata for itself.
        return consumer._coordinator.fetch_committed_offsets([at]).get(at)  # noqa: SLF001

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Any = None) -> None:
        self._admin.create_topics([NewTopic(topic, partitions, replication, topic_configs=configs)])

    @cached_property
    def _admin(self) -> Any:
        return KafkaAdminClient(bootstrap_servers=self._common["bootstrap_servers"])  # it wants to find the version by itself


if __name__ == "__main__":
    serve(Steps(*sys.argv[1:]), refusal)

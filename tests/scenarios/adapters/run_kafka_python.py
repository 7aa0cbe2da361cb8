"""Steps by kafka-python 3."""

from __future__ import annotations

import re
import sys
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import for_code
from kafka.protocol.consumer import OffsetSpec

from tests.scenarios.adapters.kafka_python_steps import RANGE, ROUND_ROBIN, ClientSteps, refusal
from tests.scenarios.adapters.steps import Refused, plain, serve


class Steps(ClientSteps):
    def __init__(self, bootstrap: str) -> None:
        assignors = {RANGE: RangePartitionAssignor, ROUND_ROBIN: RoundRobinPartitionAssignor}
        super().__init__(bootstrap, assignors)
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def _producer_settings(self, **options: Any) -> dict[str, Any]:
        return {"enable_idempotence": options.get("idempotent", False)}

    def max_timestamp(self, topic: str, partition: int) -> Any:
        (found,) = self._admin.list_partition_offsets({TopicPartition(topic, partition): OffsetSpec.MAX_TIMESTAMP}).values()
        return [found.offset, found.timestamp]

    def list_groups(self, prefix: str) -> Any:
        found = [each for each in self._admin.list_groups() if each["group_id"].startswith(prefix)]
        return plain(sorted(found, key=lambda each: each["group_id"]))

    def describe_group(self, group: str) -> Any:
        found = self._admin.describe_groups([group])[group]
        found["members"].sort(key=lambda each: each["client_id"])
        return plain(found)

    def delete_group(self, group: str) -> None:
        outcome = self._admin.delete_groups([group])[group]
        if outcome != "OK":
            raise next(error for error in map(for_code, range(120)) if error.__name__ == outcome)

    def delete_offsets(self, group: str, topic: str, partitions: list[int]) -> Any:
        found = self._admin.delete_group_offsets(group, [TopicPartition(topic, number) for number in partitions])
        return plain(found)

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Any = None) -> Any:
        asked = {"num_partitions": partitions, "replication_factor": replication, "configs": configs or {}}
        return plain(self._admin.create_topics({topic: asked}, raise_errors=True))

    def delete_topic(self, topic: str) -> Any:
        return plain(self._admin.delete_topics([topic]))

    def create_partitions(self, topic: str, count: int) -> Any:
        return plain(self._admin.create_partitions({topic: count}).to_dict())

    def list_topics(self, prefix: str) -> list[str]:
        return sorted(name for name in self._admin.list_topics() if name.startswith((prefix, "__consumer")))

    def describe_topic(self, topic: str) -> Any:
        (found,) = self._admin.describe_topics([topic])
        if found["error_code"]:
            raise for_code(found["error_code"])
        found["partitions"].sort(key=lambda each: each["partition_index"])
        return plain(found)

    def describe_cluster(self) -> Any:
        return plain(self._admin.describe_cluster())

    def describe_configs(self, kind: str, name: str, names: list[str] | None = None) -> Any:
        resource = ConfigResource(ConfigResourceType[kind.upper()], name, names and dict.fromkeys(names))
        found = self._admin.describe_configs([resource], include_synonyms=True, config_filter="all")
        return plain(dict(sorted(found[kind][name].items())))

    def alter_configs(self, topic: str, changes: list[list[Any]]) -> None:
        configs = {name: (AlterConfigOp[operation], value) for name, operation, value in changes}
        self._alter(topic, configs, incremental=True)

    def replace_configs(self, topic: str, configs: dict[str, str]) -> None:
        self._alter(topic, configs, incremental=False)

    def _alter(self, topic: str, configs: dict[str, Any], *, incremental: bool) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs)
        outcome = self._admin.alter_configs([resource], raise_on_unknown=False, incremental=incremental)["topic"][topic]
        if refused := re.match(r"\[Error (\d+)\] (.*)", outcome):
            raise Refused(int(refused[1]), refused[2])

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        at = TopicPartition(topic, partition)
        return int(self._admin.delete_records({at: before})[at]["low_watermark"])


if __name__ == "__main__":
    serve(Steps(sys.argv[1]), refusal)

"""Steps by confluent-kafka, and so by librdkafka."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

from tests.scenarios.adapters.steps import FETCH_WAIT_MS, LINGER_MS, RECONNECT_MS, TIMEOUT, GroupSteps, Refused, serve, text

# Its annotations are behind what it takes.
ck: Any = import_module("confluent_kafka")
ca: Any = import_module("confluent_kafka.admin")

EARLIEST, LATEST = ck.OFFSET_BEGINNING, ck.OFFSET_END


class Steps(GroupSteps):
    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._common = {"bootstrap.servers": bootstrap, "log_level": 0, "topic.metadata.propagation.max.ms": 0}
        self._common |= {"reconnect.backoff.max.ms": RECONNECT_MS, "topic.metadata.refresh.interval.ms": 300}
        self._admin = ca.AdminClient(self._common)

    # Producing and consuming

    def produce(
        self,
        topic: str,
        records: list[Any],
        partition: int = -1,
        codec: str = "none",
        acks: Any = "all",
        idempotent: bool = False,
    ) -> list[Any]:
        settings = {"compression.type": codec, "enable.idempotence": idempotent, "acks": acks, "linger.ms": LINGER_MS}
        settings["message.max.bytes"] = 10_000_000
        reports: list[tuple[Any, Any]] = []
        producer = ck.Producer({**self._common, **settings})
        for key, value, timestamp, headers in records:
            content = {"value": value, "key": key, "timestamp": timestamp, "headers": [tuple(pair) for pair in headers]}
            producer.produce(topic, partition=partition, callback=lambda *report: reports.append(report), **content)
        producer.flush(TIMEOUT)
        for error, _ in reports:
            if error is not None:
                raise Refused(error.code())
        return sorted([done.partition(), done.offset()] for _, done in reports)

    def consume(self, topic: str, partition: int, offset: int | str, count: int, reset: str = "error") -> list[Any]:
        settings = {"group.id": "none", "enable.auto.commit": False, "auto.offset.reset": reset, "check.crcs": True}
        consumer = ck.Consumer({**self._common, **settings, "fetch.wait.max.ms": FETCH_WAIT_MS})
        consumer.list_topics(topic, TIMEOUT)  # or librdkafka would look for the leader in half a second
        start = {"earliest": EARLIEST, "latest": LATEST}.get(str(offset), offset)
        consumer.assign([ck.TopicPartition(topic, partition, start)])
        found: list[Any] = []
        deadline = time.monotonic() + TIMEOUT
        try:
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{len(found)} of {count} records of {topic}")
                found += records_of(consumer.consume(count - len(found), 1.0))
        finally:
            consumer.close()
        return found

    def watermarks(self, topic: str, partition: int) -> list[int]:
        return list(self._with_consumer(lambda one: one.get_watermark_offsets(ck.TopicPartition(topic, partition), TIMEOUT)))

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        at = [ck.TopicPartition(topic, partition, timestamp)]
        (found,) = self._with_consumer(lambda one: one.offsets_for_times(at, TIMEOUT))
        checked(found)
        return None if found.offset == LATEST else int(found.offset)

    def max_timestamp(self, topic: str, partition: int) -> list[int]:
        at = ck.TopicPartition(topic, partition)
        (found,) = self._admin.list_offsets({at: ca.OffsetSpec.max_timestamp()}).values()
        result = found.result(TIMEOUT)
        return [result.offset, result.timestamp]

    def commit(self, group: str, topic: str, offsets: list[Any]) -> None:
        committed = [ck.TopicPartition(topic, partition, offset, metadata) for partition, offset, metadata in offsets]
        for each in self._with_consumer(lambda one: one.commit(offsets=committed, asynchronous=False), group):
            checked(each)

    def committed(self, group: str, topic: str, partitions: list[int]) -> list[Any]:
        asked = [ck.TopicPartition(topic, partition) for partition in partitions]
        found = self._with_consumer(lambda one: one.committed(asked, TIMEOUT), group)
        return [
            [each.partition, *((each.offset, each.metadata or "") if each.offset >= 0 else (None, None))]
            for each in map(checked, found)
        ]

    def _with_consumer(self, ask: Any, group: str = "none") -> Any:
        consumer = ck.Consumer({**self._common, "group.id": group, "enable.auto.commit": False})
        try:
            return ask(consumer)
        finally:
            consumer.close()

    # Groups

    def join(self, member: str, group: str, topics: list[str], assignor: str = "range", instance: str | None = None) -> None:
        settings = {
            "group.id": group,
            "client.id": member,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": assignor,
            "heartbeat.interval.ms": 300,
            "fetch.wait.max.ms": FETCH_WAIT_MS,
            **({"group.instance.id": instance} if instance else {}),
        }
        self.add_member(member, lambda: Member({**self._common, **settings}, topics))

    def list_groups(self, prefix: str) -> list[Any]:
        found = self._admin.list_consumer_groups(request_timeout=TIMEOUT).result(TIMEOUT)
        return sorted(
            [each.group_id, each.is_simple_consumer_group, each.state.name, each.type.name]
            for each in found.valid
            if each.group_id.startswith(prefix)
        )

    def describe_group(self, group: str) -> dict[str, Any]:
        found = self._one(self._admin.describe_consumer_groups([group], request_timeout=TIMEOUT))
        members = [
            {
                "client": each.client_id,
                "host": each.host,
                "instance": each.group_instance_id,
                "assigned": sorted([one.topic, one.partition] for one in each.assignment.topic_partitions),
            }
            for each in found.members
        ]
        return {
            "state": found.state.name,
            "simple": found.is_simple_consumer_group,
            "type": found.type.name,
            "assignor": found.partition_assignor,
            "coordinator": found.coordinator.id,
            "members": sorted(members, key=lambda each: each["client"]),
        }

    def delete_group(self, group: str) -> None:
        self._one(self._admin.delete_consumer_groups([group], request_timeout=TIMEOUT))

    # Administration

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Any = None) -> None:
        self._one(self._admin.create_topics([ca.NewTopic(topic, partitions, replication, config=configs or {})]))

    def delete_topic(self, topic: str) -> None:
        self._one(self._admin.delete_topics([topic]))

    def create_partitions(self, topic: str, count: int) -> None:
        self._one(self._admin.create_partitions([ca.NewPartitions(topic, count)]))

    def list_topics(self, prefix: str) -> list[Any]:
        found = self._admin.list_topics(timeout=TIMEOUT).topics.values()
        return sorted([each.topic, len(each.partitions)] for each in found if each.topic.startswith((prefix, "__consumer")))

    def describe_topic(self, topic: str) -> dict[str, Any]:
        found = self._one(self._admin.describe_topics(ck.TopicCollection([topic]), request_timeout=TIMEOUT))
        partitions = [
            [each.id, each.leader.id, [one.id for one in each.replicas], [one.id for one in each.isr]]
            for each in found.partitions
        ]
        return {"internal": found.is_internal, "partitions": partitions}

    def describe_cluster(self) -> dict[str, Any]:
        found = self._admin.describe_cluster(request_timeout=TIMEOUT).result(TIMEOUT)
        brokers = sorted([each.id, each.host, each.rack] for each in found.nodes)
        return {"brokers": brokers, "controller": found.controller.id, "has id": bool(found.cluster_id)}

    def describe_configs(self, kind: str, name: str, names: list[str] | None = None) -> dict[str, Any]:
        found = self._one(self._admin.describe_configs([ca.ConfigResource(kind, name)], request_timeout=TIMEOUT))
        return {
            key: {
                "value": each.value,
                "source": ca.ConfigSource(each.source).name,
                "read only": each.is_read_only,
                "sensitive": each.is_sensitive,
                "synonyms": [[one.name, one.value, ca.ConfigSource(one.source).name] for one in each.synonyms.values()],
            }
            for key, each in found.items()
            if names is None or key in names
        }

    def alter_configs(self, topic: str, changes: list[list[str | None]]) -> None:
        resource = ca.ConfigResource("topic", topic)
        for name, operation, value in changes:
            kind = ca.AlterConfigOpType[str(operation)]
            resource.add_incremental_config(ca.ConfigEntry(name, value, incremental_operation=kind))
        self._one(self._admin.incremental_alter_configs([resource]))

    def replace_configs(self, topic: str, configs: dict[str, str]) -> None:
        self._one(self._admin.alter_configs([ca.ConfigResource("topic", topic, set_config=configs)]))

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        return int(self._one(self._admin.delete_records([ck.TopicPartition(topic, partition, before)])).low_watermark)

    @staticmethod
    def _one(futures: Any) -> Any:
        (future,) = futures.values()
        return future.result(TIMEOUT)


class Member:
    def __init__(self, settings: dict[str, Any], topics: list[str]) -> None:
        self._consumer = ck.Consumer(settings)
        self._consumer.subscribe(topics)

    def poll(self, seconds: float) -> list[Any]:
        return records_of(self._consumer.consume(1000, seconds))

    def assignment(self) -> list[Any]:
        return [[each.topic, each.partition] for each in self._consumer.assignment()]

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


def records_of(messages: list[Any]) -> list[Any]:
    for message in messages:
        if message.error():
            raise ck.KafkaException(message.error())
    return [
        [
            message.partition(),
            message.offset(),
            text(message.key()),
            text(message.value()),
            *message.timestamp(),
            [[name, text(content)] for name, content in message.headers() or ()],
        ]
        for message in messages
    ]


def checked(partition: Any) -> Any:
    if partition.error:
        raise ck.KafkaException(partition.error)
    return partition


def refusal(error: Exception) -> Refused | None:
    if not isinstance(error, ck.KafkaException):
        return None
    (inner,) = error.args
    return Refused(inner.code(), inner.str())


if __name__ == "__main__":
    serve(Steps(sys.argv[1]), refusal)

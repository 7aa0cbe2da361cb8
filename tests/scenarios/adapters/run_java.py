"""Steps by Kafka's Java client, in a JVM that is driven by reflection (Py4J): that needs a Java runtime, not a compiler."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests.scenarios.adapters.steps import FETCH_WAIT_MS, LINGER_MS, RECONNECT_MS, TIMEOUT, GroupSteps, Refused, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

py4j: Any = import_module("py4j.java_gateway")

ASSIGNORS = {"range": "RangeAssignor", "roundrobin": "RoundRobinAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}

STRINGS = "org.apache.kafka.common.serialization.String"

JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Steps(GroupSteps):
    def __init__(self, class_path: str, bootstrap: str) -> None:
        super().__init__()
        port, token = py4j.launch_gateway(classpath=class_path, javaopts=list(JVM), die_on_exit=True, enable_auth=True)
        parameters = py4j.GatewayParameters(port=port, auth_token=token, auto_convert=True)
        self.gateway = py4j.JavaGateway(gateway_parameters=parameters)
        self.java = self.gateway.jvm.java
        kafka = self.gateway.jvm.org.apache.kafka
        self.common, self.clients, self._admin_classes = kafka.common, kafka.clients, kafka.clients.admin
        self._bootstrap = bootstrap
        self._admin = self._admin_classes.Admin.create(self._settings())

    def _settings(self, **settings: Any) -> Any:
        made = self.java.util.Properties()
        common = {"bootstrap.servers": self._bootstrap, "reconnect.backoff.max.ms": RECONNECT_MS}
        for name, value in {**common, **settings}.items():
            made.setProperty(name.replace("_", "."), str(value))
        return made

    def _get(self, future: Any) -> Any:
        return future.get(TIMEOUT, self.java.util.concurrent.TimeUnit.SECONDS)

    def _array(self, kind: str, element: Any) -> Any:
        array = self.gateway.new_array(getattr(self.java.lang, kind), 1)
        array[0] = element
        return array

    def _partition(self, topic: str, partition: int) -> Any:
        return self.common.TopicPartition(topic, partition)

    # Producing and consuming

    def produce(
        self,
        topic: str,
        records: list[Any],
        partition: int | None = None,
        codec: str = "none",
        acks: Any = "all",
        idempotent: bool = False,
    ) -> list[Any]:
        producer = self.clients.producer.KafkaProducer(
            self._settings(
                compression_type=codec,
                acks=acks,
                enable_idempotence=str(idempotent).lower(),
                linger_ms=LINGER_MS,
                max_request_size=10_000_000,
                key_serializer=STRINGS + "Serializer",
                value_serializer=STRINGS + "Serializer",
            )
        )
        try:
            sent = [producer.send(self._record(topic, partition, *record)) for record in records]
            done = [self._get(future) for future in sent]
        finally:
            producer.close()
        return sorted([each.partition(), each.offset()] for each in done)

    def _record(self, topic: str, partition: int | None, key: Any, value: Any, timestamp: int, headers: list[Any]) -> Any:
        record = self.clients.producer.ProducerRecord(topic, partition, timestamp, key, value)
        for name, content in headers:
            record.headers().add(name, content.encode())
        return record

    def consumer(self, **settings: Any) -> Any:
        deserializers = {"key_deserializer": STRINGS + "Deserializer", "value_deserializer": STRINGS + "Deserializer"}
        own = {"enable_auto_commit": "false", "fetch_max_wait_ms": FETCH_WAIT_MS}
        return self.clients.consumer.KafkaConsumer(self._settings(**own, **deserializers, **settings))

    def polled(self, consumer: Any, seconds: float) -> list[Any]:
        found = []
        for record in every(consumer.poll(self.java.time.Duration.ofMillis(int(seconds * 1000)))):
            kind = record.timestampType().toString()
            headers = [[header.key(), bytes(header.value()).decode()] for header in every(record.headers())]
            epoch = record.leaderEpoch().orElse(None)
            content = [record.key(), record.value(), kind, record.timestamp(), headers, epoch]
            found.append([record.partition(), record.offset(), *content])
        return found

    def consume(self, topic: str, partition: int, offset: Any, count: int, reset: str = "none") -> list[Any]:
        at = self._partition(topic, partition)
        consumer = self.consumer(auto_offset_reset=reset)
        found: list[Any] = []
        deadline = time.monotonic() + TIMEOUT
        try:
            consumer.assign([at])
            if offset == "earliest":
                consumer.seekToBeginning([at])
            else:
                consumer.seek(at, offset)
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{len(found)} of {count} records of {topic}")
                found += self.polled(consumer, 1)
        finally:
            consumer.close()
        return found[:count]

    # Offsets

    def _list_offset(self, topic: str, partition: int, spec: Any) -> list[Any]:
        at = self._partition(topic, partition)
        found = self._get(self._admin.listOffsets({at: spec}).partitionResult(at))
        return [found.offset(), found.timestamp(), found.leaderEpoch().orElse(None)]

    def watermarks(self, topic: str, partition: int) -> list[int]:
        specs = self._admin_classes.OffsetSpec
        return [self._list_offset(topic, partition, spec)[0] for spec in (specs.earliest(), specs.latest())]

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        offset, *_ = self._list_offset(topic, partition, self._admin_classes.OffsetSpec.forTimestamp(timestamp))
        return None if offset == -1 else int(offset)

    def max_timestamp(self, topic: str, partition: int) -> list[int]:
        return self._list_offset(topic, partition, self._admin_classes.OffsetSpec.maxTimestamp())[:2]

    def commit(self, group: str, topic: str, offsets: list[Any]) -> None:
        committed = {
            self._partition(topic, number): self.clients.consumer.OffsetAndMetadata(offset, metadata)
            for number, offset, metadata in offsets
        }
        self._get(self._admin.alterConsumerGroupOffsets(group, committed).all())

    def committed(self, group: str, topic: str, partitions: list[int]) -> list[Any]:
        found = self._get(self._admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata(group))
        shown = []
        for number in partitions:
            each = found.get(self._partition(topic, number))
            shown.append([number, *((each.offset(), each.metadata()) if each else (None, None))])
        return shown

    def delete_offsets(self, group: str, topic: str, partitions: list[int]) -> None:
        asked = self.java.util.HashSet()
        for number in partitions:
            asked.add(self._partition(topic, number))
        self._get(self._admin.deleteConsumerGroupOffsets(group, asked).all())

    # Groups

    def join(self, member: str, group: str, topics: list[str], assignor: str = "range", instance: str | None = None) -> None:
        settings = {
            "group_id": group,
            "client_id": member,
            "auto_offset_reset": "earliest",
            "partition_assignment_strategy": f"org.apache.kafka.clients.consumer.{ASSIGNORS[assignor]}",
            "heartbeat_interval_ms": 300,
            **({"group_instance_id": instance} if instance else {}),
        }
        self.add_member(member, lambda: Member(self, settings, topics))

    def list_groups(self, prefix: str) -> list[Any]:
        return sorted(
            [
                each.groupId(),
                str(each.type().orElse(None)),
                each.protocol(),
                each.isSimpleConsumerGroup(),
                str(each.groupState().orElse(None)),
            ]
            for each in every(self._get(self._admin.listGroups().all()))
            if each.groupId().startswith(prefix)
        )

    def describe_group(self, group: str) -> dict[str, Any]:
        found = self._get(self._admin.describeConsumerGroups([group]).all()).get(group)
        members = [
            {
                "client": each.clientId(),
                "host": each.host(),
                "instance": each.groupInstanceId().orElse(None),
                "rack": each.rackId().orElse(None),
                "assigned": sorted([one.topic(), one.partition()] for one in every(each.assignment().topicPartitions())),
            }
            for each in every(found.members())
        ]
        return {
            "state": str(found.groupState()),
            "simple": found.isSimpleConsumerGroup(),
            "type": str(found.type()),
            "assignor": found.partitionAssignor(),
            "coordinator": found.coordinator().id(),
            "members": sorted(members, key=lambda each: each["client"]),
        }

    def delete_group(self, group: str) -> None:
        self._get(self._admin.deleteConsumerGroups([group]).all())

    # Administration

    def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Any = None) -> Any:
        made = self._admin.createTopics([self._admin_classes.NewTopic(topic, partitions, replication).configs(configs or {})])
        self._get(made.all())
        return {
            "partitions": self._get(made.numPartitions(topic)),
            "replication": self._get(made.replicationFactor(topic)),
            "configs": sorted(
                [each.name(), each.value(), str(each.source())] for each in every(self._get(made.config(topic)).entries())
            ),
        }

    def delete_topic(self, topic: str) -> None:
        self._get(self._admin.deleteTopics([topic]).all())

    def create_partitions(self, topic: str, count: int) -> None:
        self._get(self._admin.createPartitions({topic: self._admin_classes.NewPartitions.increaseTo(count)}).all())

    def list_topics(self, prefix: str) -> list[Any]:
        options = self._admin_classes.ListTopicsOptions().listInternal(True)
        found = self._get(self._admin.listTopics(options).listings())
        return sorted(
            [each.name(), each.isInternal()] for each in every(found) if each.name().startswith((prefix, "__consumer"))
        )

    def describe_topic(self, topic: str) -> dict[str, Any]:
        found = self._get(self._admin.describeTopics([topic]).allTopicNames()).get(topic)
        partitions = [
            [each.partition(), each.leader().id(), *map(ids, (each.replicas(), each.isr(), each.elr(), each.lastKnownElr()))]
            for each in every(found.partitions())
        ]
        return {"internal": found.isInternal(), "partitions": partitions}

    def describe_cluster(self) -> dict[str, Any]:
        found = self._admin.describeCluster()
        brokers = sorted([each.id(), each.host(), each.rack(), each.isFenced()] for each in every(self._get(found.nodes())))
        return {
            "brokers": brokers,
            "controller": self._get(found.controller()).id(),
            "has id": bool(self._get(found.clusterId())),
        }

    def describe_configs(self, kind: str, name: str, names: list[str] | None = None) -> dict[str, Any]:
        options = self._admin_classes.DescribeConfigsOptions().includeSynonyms(True)
        found = self._get(self._admin.describeConfigs([self._resource(kind, name)], options).all())
        config = found.get(self._resource(kind, name))
        return {
            each.name(): {
                "value": each.value(),
                "source": str(each.source()),
                "type": str(each.type()),
                "read only": each.isReadOnly(),
                "sensitive": each.isSensitive(),
                "synonyms": [[one.name(), one.value(), str(one.source())] for one in every(each.synonyms())],
            }
            for each in every(config.entries())
            if names is None or each.name() in names
        }

    def _resource(self, kind: str, name: str) -> Any:
        kinds = self.gateway.jvm.java.lang.Class.forName("org.apache.kafka.common.config.ConfigResource$Type")
        constant = next(each for each in kinds.getEnumConstants() if str(each) == kind.upper())
        return self.common.config.ConfigResource(constant, name)

    def alter_configs(self, topic: str, changes: list[list[Any]]) -> None:
        kinds = self.gateway.jvm.java.lang.Class.forName("org.apache.kafka.clients.admin.AlterConfigOp$OpType")
        operations = {str(each): each for each in kinds.getEnumConstants()}
        asked = [
            self._admin_classes.AlterConfigOp(self._admin_classes.ConfigEntry(name, value), operations[operation])
            for name, operation, value in changes
        ]
        self._get(self._admin.incrementalAlterConfigs({self._resource("topic", topic): asked}).all())

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        at = self._partition(topic, partition)
        kind = self.java.lang.Class.forName("org.apache.kafka.clients.admin.RecordsToDelete")
        # Two methods have that name, and Py4J finds the other.
        make = kind.getMethod("beforeOffset", self._array("Class", self.java.lang.Long.TYPE))
        asked = {at: make.invoke(None, self._array("Object", before))}
        return int(self._get(self._admin.deleteRecords(asked).lowWatermarks().get(at)).lowWatermark())


class Member:
    def __init__(self, steps: Steps, settings: dict[str, Any], topics: list[str]) -> None:
        self._steps = steps
        self._consumer = steps.consumer(**settings)
        self._consumer.subscribe(topics)

    def poll(self, seconds: float) -> list[Any]:
        return self._steps.polled(self._consumer, seconds)

    def assignment(self) -> list[Any]:
        return [[each.topic(), each.partition()] for each in every(self._consumer.assignment())]

    def commit(self) -> None:
        self._consumer.commitSync()

    def close(self) -> None:
        self._consumer.close()


def every(iterable: Any) -> Iterator[Any]:
    """Items of a Java collection of any kind."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


def ids(nodes: Any) -> list[int]:
    return [node.id() for node in every(nodes)]


def refusal(steps: Steps, error: Exception) -> Refused | None:
    if not isinstance(error, py4j.Py4JJavaError):
        return None
    cause = error.java_exception
    while cause.getClass().getSimpleName() == "ExecutionException":
        cause = cause.getCause()
    code = steps.gateway.jvm.org.apache.kafka.common.protocol.Errors.forException(cause).code()
    return Refused(code, cause.getMessage()) if code != -1 else None


if __name__ == "__main__":
    made = Steps(*sys.argv[1:])
    serve(made, lambda error: refusal(made, error))

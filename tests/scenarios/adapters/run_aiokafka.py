"""Steps by aiokafka: each a coroutine, run by an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from tests.scenarios.adapters.steps import (
    BACKOFF_MS,
    LINGER_MS,
    TIMEOUT,
    GroupSteps,
    Refused,
    encoded,
    plain,
    records_of,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class Loop:
    """Runs coroutines for threads that wait for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, TIMEOUT), self._loop).result()


def on_loop(function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """The method that waits for a coroutine method."""

    @functools.wraps(function)
    def step(self: Steps, **fields: Any) -> Any:
        return self.loop.run(function(self, **fields))

    return step


class Steps(GroupSteps):
    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._common = {"bootstrap_servers": bootstrap, "retry_backoff_ms": BACKOFF_MS}
        self.loop = Loop()

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(**self._common)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    # Producing and consuming

    @on_loop
    async def produce(
        self,
        topic: str,
        records: list[Any],
        partition: int | None = None,
        codec: str = "none",
        acks: Any = "all",
        idempotent: bool = False,
    ) -> list[Any]:
        settings = {
            "compression_type": None if codec == "none" else codec,
            "enable_idempotence": idempotent,
            "linger_ms": LINGER_MS,
        }
        async with AIOKafkaProducer(**self._common, **settings, acks=acks, max_request_size=10_000_000) as producer:
            sent = [
                await producer.send(
                    topic, encoded(value), encoded(key), partition, at, [(name, encoded(one)) for name, one in headers]
                )
                for key, value, at, headers in records
            ]
            done = await asyncio.gather(*sent)
        return sorted([each.partition, each.offset] for each in done if each)

    @on_loop
    async def consume(self, topic: str, partition: int, offset: Any, count: int, reset: str = "none") -> list[Any]:
        at = TopicPartition(topic, partition)
        found: list[Any] = []
        async with AIOKafkaConsumer(**self._common, auto_offset_reset=reset) as consumer:
            consumer.assign([at])
            if offset == "earliest":
                await consumer.seek_to_beginning(at)
            else:
                consumer.seek(at, offset)
            while len(found) < count:
                found += records_of(await consumer.getmany(timeout_ms=1000, max_records=count - len(found)))
        return found

    @on_loop
    async def watermarks(self, topic: str, partition: int) -> list[int]:
        at = TopicPartition(topic, partition)
        async with AIOKafkaConsumer(**self._common) as consumer:
            return [(await consumer.beginning_offsets([at]))[at], (await consumer.end_offsets([at]))[at]]

    @on_loop
    async def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        at = TopicPartition(topic, partition)
        async with AIOKafkaConsumer(**self._common) as consumer:
            found = (await consumer.offsets_for_times({at: timestamp}))[at]
            return None if found is None else int(found.offset)

    @on_loop
    async def commit(self, group: str, topic: str, offsets: list[Any]) -> None:
        committed = {TopicPartition(topic, number): OffsetAndMetadata(offset, metadata) for number, offset, metadata in offsets}
        async with AIOKafkaConsumer(**self._common, group_id=group, enable_auto_commit=False) as consumer:
            consumer.assign(list(committed))
            await consumer.commit(committed)

    @on_loop
    async def committed(self, group: str, topic: str, partitions: list[int]) -> list[Any]:
        asked = [TopicPartition(topic, number) for number in partitions]
        async with self._admin() as admin:
            found = await admin.list_consumer_group_offsets(group, partitions=asked)
        shown = []
        for at in asked:
            offset, metadata = found[at]
            shown.append([at.partition, *((offset, metadata) if offset >= 0 else (None, None))])
        return shown

    # Groups

    def join(self, member: str, group: str, topics: list[str], assignor: str = "range", instance: str | None = None) -> None:
        settings = {
            "group_id": group,
            "client_id": member,
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "partition_assignment_strategy": [ASSIGNORS[assignor]],
            "heartbeat_interval_ms": 300,
            "group_instance_id": instance,
        }
        self.add_member(member, lambda: Member(self.loop, {**self._common, **settings}, topics))

    @on_loop
    async def list_groups(self, prefix: str) -> Any:
        async with self._admin() as admin:
            return plain(sorted(each for each in await admin.list_consumer_groups() if each[0].startswith(prefix)))

    @on_loop
    async def describe_group(self, group: str) -> Any:
        async with self._admin() as admin:
            (found,) = [response.to_object()["groups"][0] for response in await admin.describe_consumer_groups([group])]
        for each in found["members"]:
            each["member_metadata"] = each["member_metadata"].hex()
            each["member_assignment"] = each["member_assignment"].hex()
        found["members"].sort(key=lambda each: each["client_id"])
        return plain(found)

    # Administration

    @on_loop
    async def create_topic(self, topic: str, partitions: int = 1, replication: int = 1, configs: Any = None) -> None:
        async with self._admin() as admin:
            response = await admin.create_topics([NewTopic(topic, partitions, replication, topic_configs=configs)])
        (answer,) = response.to_object()["topic_errors"]
        checked(answer)

    @on_loop
    async def delete_topic(self, topic: str) -> None:
        async with self._admin() as admin:
            ((_, code),) = (await admin.delete_topics([topic])).topic_error_codes
        checked({"error_code": code})

    @on_loop
    async def create_partitions(self, topic: str, count: int) -> None:
        async with self._admin() as admin:
            await admin.create_partitions({topic: NewPartitions(count)})

    @on_loop
    async def list_topics(self, prefix: str) -> list[str]:
        async with self._admin() as admin:
            return sorted(name for name in await admin.list_topics() if name.startswith((prefix, "__consumer")))

    @on_loop
    async def describe_topic(self, topic: str) -> Any:
        async with self._admin() as admin:
            (found,) = await admin.describe_topics([topic])
        checked(found)
        found["partitions"].sort(key=lambda each: each["partition"])
        return plain(found)

    @on_loop
    async def describe_cluster(self) -> Any:
        async with self._admin() as admin:
            return plain(await admin.describe_cluster())

    @on_loop
    async def describe_configs(self, kind: str, name: str, names: list[str] | None = None) -> Any:
        resource = ConfigResource(ConfigResourceType[kind.upper()], name, names and dict.fromkeys(names))
        async with self._admin() as admin:
            (response,) = await admin.describe_configs([resource], include_synonyms=True)
        (found,) = response.to_object()["resources"]
        checked(found)
        return plain(sorted(found["config_entries"], key=lambda each: each["config_names"]))

    @on_loop
    async def replace_configs(self, topic: str, configs: dict[str, str]) -> None:
        async with self._admin() as admin:
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs)])

    @on_loop
    async def delete_records(self, topic: str, partition: int, before: int) -> int:
        at = TopicPartition(topic, partition)
        async with self._admin() as admin:
            return int((await admin.delete_records({at: RecordsToDelete(before)}))[at])


class Member:
    def __init__(self, loop: Loop, settings: dict[str, Any], topics: list[str]) -> None:
        self._run = loop.run
        self._run(self._start(settings, topics))

    async def _start(self, settings: dict[str, Any], topics: list[str]) -> None:
        self._consumer = AIOKafkaConsumer(*topics, **settings)
        await self._consumer.start()

    def poll(self, seconds: float) -> list[Any]:
        return records_of(self._run(self._consumer.getmany(timeout_ms=int(seconds * 1000))))

    def assignment(self) -> list[Any]:
        return [list(each) for each in self._consumer.assignment()]

    def commit(self) -> None:
        self._run(self._consumer.commit())

    def close(self) -> None:
        self._run(self._consumer.stop())


def checked(answer: dict[str, Any]) -> None:
    if answer["error_code"]:
        raise Refused(answer["error_code"], answer.get("error_message"))


def refusal(error: Exception) -> Refused | None:
    code = getattr(error, "errno", None)
    return Refused(code, str(error)) if isinstance(error, KafkaError) and code is not None else None


if __name__ == "__main__":
    serve(Steps(sys.argv[1]), refusal)

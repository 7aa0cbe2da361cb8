"""Steps that kafka-python 1.4 and 3 do alike: producing, consuming, offsets, members of groups."""

from __future__ import annotations

import time
import warnings
from contextlib import closing
from typing import Any

from tests.scenarios.adapters.steps import (
    BACKOFF_MS,
    FETCH_WAIT_MS,
    LINGER_MS,
    RECONNECT_MS,
    TIMEOUT,
    GroupSteps,
    Refused,
    encoded,
    records_of,
)

with warnings.catch_warnings():  # each loads something by a call that Python has deprecated since
    warnings.simplefilter("ignore")
    import kafka
    from kafka import errors, structs

__all__ = ["RANGE", "ROUND_ROBIN", "ClientSteps", "refusal"]

RANGE, ROUND_ROBIN = "range", "roundrobin"

CONSUMER = {"enable_auto_commit": False, "fetch_max_wait_ms": FETCH_WAIT_MS, "retry_backoff_ms": BACKOFF_MS}


class ClientSteps(GroupSteps):
    def __init__(self, bootstrap: str, assignors: dict[str, type], **common: Any) -> None:
        super().__init__()
        self._common = {"bootstrap_servers": bootstrap, "reconnect_backoff_max_ms": RECONNECT_MS, **common}
        self._assignors = assignors

    def produce(
        self,
        topic: str,
        records: list[Any],
        partition: int | None = None,
        codec: str = "none",
        acks: Any = "all",
        **options: Any,
    ) -> list[Any]:
        settings = {"compression_type": None if codec == "none" else codec, "acks": acks, "linger_ms": LINGER_MS, "retries": 5}
        settings |= {"max_request_size": 10_000_000, **self._producer_settings(**options)}
        with closing(kafka.KafkaProducer(**self._common, **settings)) as producer:
            sent = [
                producer.send(
                    topic, encoded(value), encoded(key), [(name, encoded(one)) for name, one in headers], partition, at
                )
                for key, value, at, headers in records
            ]
            producer.flush(TIMEOUT)
            done = [future.get(TIMEOUT) for future in sent]
        return sorted([each.partition, each.offset] for each in done)

    def _producer_settings(self, **_: Any) -> dict[str, Any]:
        return {}

    def consume(self, topic: str, partition: int, offset: Any, count: int, reset: str = "none") -> list[Any]:
        at = kafka.TopicPartition(topic, partition)
        found: list[Any] = []
        deadline = time.monotonic() + TIMEOUT
        with self._consumer(auto_offset_reset=reset) as consumer:
            consumer.assign([at])
            if offset == "earliest":
                consumer.seek_to_beginning(at)
            else:
                consumer.seek(at, offset)
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{len(found)} of {count} records of {topic}")
                found += records_of(consumer.poll(1000, max_records=count - len(found)))
        return found

    def watermarks(self, topic: str, partition: int) -> list[int]:
        at = kafka.TopicPartition(topic, partition)
        with self._consumer() as consumer:
            return [consumer.beginning_offsets([at])[at], consumer.end_offsets([at])[at]]

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        at = kafka.TopicPartition(topic, partition)
        with self._consumer() as consumer:
            found = consumer.offsets_for_times({at: timestamp})[at]
        return found and int(found.offset)

    def commit(self, group: str, topic: str, offsets: list[Any]) -> None:
        fields = structs.OffsetAndMetadata._fields
        with self._consumer(group_id=group) as consumer:
            committed = {
                kafka.TopicPartition(topic, number): structs.OffsetAndMetadata(*[offset, metadata, -1][: len(fields)])
                for number, offset, metadata in offsets
            }
            consumer.assign(list(committed))
            consumer.commit(committed)

    def committed(self, group: str, topic: str, partitions: list[int]) -> list[Any]:
        asked = [kafka.TopicPartition(topic, number) for number in partitions]
        found = []
        with self._consumer(group_id=group) as consumer:
            consumer.assign(asked)
            for at in asked:
                each = self._committed(consumer, at)
                found.append([at.partition, *((each.offset, each.metadata) if each else (None, None))])
        return found

    def _committed(self, consumer: Any, at: Any) -> Any:
        return consumer.committed(at, metadata=True)

    def _consumer(self, **settings: Any) -> Any:
        return closing(kafka.KafkaConsumer(**self._common, **CONSUMER, **settings))

    def join(self, member: str, group: str, topics: list[str], assignor: str = RANGE, instance: str | None = None) -> None:
        settings = {
            "group_id": group,
            "client_id": member,
            "auto_offset_reset": "earliest",
            "partition_assignment_strategy": [self._assignors[assignor]],
            "heartbeat_interval_ms": 300,
            **({"group_instance_id": instance} if instance else {}),
        }
        self.add_member(member, lambda: Member({**self._common, **CONSUMER, **settings}, topics))


class Member:
    def __init__(self, settings: dict[str, Any], topics: list[str]) -> None:
        self._consumer = kafka.KafkaConsumer(**settings)
        self._found: list[Any] = []
        """Polled while it committed."""
        self._consumer.subscribe(topics)
        # A leader that hears of a subscribed topic only after it has assigned it joins again, and 3.0.12 forgets about that
        # if a poll ends too early, with a real broker as well: it has no heartbeats then and cannot commit any more.
        deadline = time.monotonic() + TIMEOUT
        while not self._consumer.topics() >= set(topics):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the topics {topics} are not in the metadata")

    def poll(self, seconds: float) -> list[Any]:
        found = self._found + records_of(self._consumer.poll(int(seconds * 1000)))
        self._found = []
        return found

    def assignment(self) -> list[Any]:
        return [list(each) for each in self._consumer.assignment()]

    def commit(self) -> None:
        """Complete a rebalance by polling first, as the library asks for."""
        while self._is_rebalancing():
            self._found += records_of(self._consumer.poll(100))
        self._consumer.commit()

    def _is_rebalancing(self) -> bool:
        states = getattr(structs, "MemberState", None)  # since release 3
        return states is not None and bool(self._consumer.group_metadata().state == states.REBALANCING)

    def close(self) -> None:
        self._consumer.close()


def refusal(error: Exception) -> Refused | None:
    code = getattr(error, "errno", None)
    if not isinstance(error, errors.KafkaError) or code is None:
        return None
    return Refused(code, str(error))

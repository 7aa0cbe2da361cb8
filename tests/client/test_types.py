"""Types of records for type checkers: mypy checks this file with all others, and an unused `type: ignore` is an error."""

from __future__ import annotations

import json
from typing import Any, assert_type

import pytest

import kafkawire
import kafkawire.aio

SERVERS = "localhost:9092"


def test_records_are_bytes_without_deserializers() -> None:
    with kafkawire.Consumer("t", bootstrap_servers=SERVERS) as consumer:
        assert_type(consumer, kafkawire.Consumer[bytes, bytes])


def read_bytes(consumer: kafkawire.Consumer) -> None:
    for message in consumer:
        assert_type(message.value, bytes | None)


def read(consumer: kafkawire.Consumer[str, dict[str, int]]) -> None:
    for message in consumer:
        assert_type(message, kafkawire.Message[str, dict[str, int]])
        assert_type(message.key, str | None)
        assert_type(message.value, dict[str, int] | None)
    assert_type(consumer.poll(timeout=1.0)[0].key, str | None)
    assert_type(next(consumer).payload, dict[str, int] | None)
    assert_type(consumer.fetch("t", 0, 0)[0].key, str | None)


async def read_async(consumer: kafkawire.aio.Consumer[str, dict[str, int]]) -> None:
    async for message in consumer:
        assert_type(message.value, dict[str, int] | None)
    assert_type((await consumer.poll(timeout=1.0))[0].key, str | None)
    assert_type((await anext(consumer)).key, str | None)


def counted(data: bytes) -> dict[str, int]:
    return dict.fromkeys(data.decode(), 1)


def test_deserializers_say_what_records_hold() -> None:
    with kafkawire.Consumer("t", bootstrap_servers=SERVERS, key_deserializer=bytes.decode, value_deserializer=counted) as c:
        assert_type(c, kafkawire.Consumer[str, dict[str, int]])
    with kafkawire.Consumer("t", bootstrap_servers=SERVERS, value_deserializer=json.loads) as c_any:
        assert_type(c_any, kafkawire.Consumer[bytes, Any])
    with kafkawire.Consumer("t", bootstrap_servers=SERVERS, value_deserializer=lambda data: data.decode()) as of_text:
        assert_type(of_text, kafkawire.Consumer[bytes, str])


def test_serializers_say_what_is_sent() -> None:
    with kafkawire.Producer(bootstrap_servers=SERVERS, value_serializer=str.encode, max_block_ms=0) as producer:
        assert_type(producer, kafkawire.Producer[Any, str])
        with pytest.raises(TypeError):
            producer.send("t", 5)  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            producer.produce("t", "v")  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        kafkawire.KafkaProducer  # type: ignore[attr-defined] # noqa: B018


def test_types_can_be_named() -> None:
    message: kafkawire.Message[str, Any] = kafkawire.Message("t", 0, 5, None, None, "key", {"n": 1})
    plain: kafkawire.Message = kafkawire.Message("t", 0, 5, None, None, b"key", None)
    assert_type(plain.key, bytes | None)
    assert (message.key, plain.key) == ("key", b"key")

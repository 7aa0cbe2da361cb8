"""Kafka client for asyncio: Connection, Producer and Consumer with the methods of those in `kafkawire`, awaited.

They belong to the event loop that runs when they are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from kafkawire.aio.connection import Connection
from kafkawire.aio.consumer import Consumer
from kafkawire.aio.producer import Producer
from kafkawire.errors import KafkaError
from kafkawire.foreign_methods import no_such_name
from kafkawire.message import Message, RecordMetadata, TopicPartition

__all__ = ["Connection", "Consumer", "KafkaError", "Message", "Producer", "RecordMetadata", "TopicPartition"]


if not TYPE_CHECKING:  # a module with __getattr__ has every name for a type checker

    def __getattr__(name: str) -> Never:
        raise no_such_name(__name__, name)

"""The same for asyncio: Connection, Producer and Consumer, awaited. Make them where a loop runs."""

from __future__ import annotations

from kafkawire.aio.connection import Connection
from kafkawire.aio.consumer import Consumer
from kafkawire.aio.producer import Producer
from kafkawire.message import Message, RecordMetadata, TopicPartition

__all__ = ["Connection", "Consumer", "Message", "Producer", "RecordMetadata", "TopicPartition"]

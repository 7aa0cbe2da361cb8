"""A Kafka client in pure Python: Connection, Producer, Consumer. `kafkawire.aio` has the same for asyncio."""

from __future__ import annotations

from kafkawire.connection import Connection
from kafkawire.consumer import Consumer
from kafkawire.message import Message, RecordMetadata, TopicPartition
from kafkawire.producer import Producer
from kafkawire.version import __version__

__all__ = ["Connection", "Consumer", "Message", "Producer", "RecordMetadata", "TopicPartition", "__version__"]

"""A Kafka client in pure Python: Connection, Producer and Consumer; `kafkawire.aio` has those for asyncio.

Names are loaded on first use, so that a program that only produces does not load the consumer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkawire.foreign_methods import no_such_name
from kafkawire.version import __version__

if TYPE_CHECKING:
    from kafkawire.connection import Connection
    from kafkawire.consumer import Consumer
    from kafkawire.errors import KafkaError
    from kafkawire.message import Message, RecordMetadata, TopicPartition
    from kafkawire.producer import Producer

__all__ = ["Connection", "Consumer", "KafkaError", "Message", "Producer", "RecordMetadata", "TopicPartition", "__version__"]

_HOMES = {
    "Connection": "connection",
    "Consumer": "consumer",
    "KafkaError": "errors",
    "Message": "message",
    "Producer": "producer",
    "RecordMetadata": "message",
    "TopicPartition": "message",
}


if not TYPE_CHECKING:  # a module with __getattr__ has every name for a type checker

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise no_such_name(__name__, name)
        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found

"""A Kafka client in pure Python: Connection, Producer, Consumer. `kafkawire.aio` has the same for asyncio.

Names load on first use, so that a program which only produces does not pay for the consumer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkawire.version import __version__

if TYPE_CHECKING:
    from kafkawire.connection import Connection
    from kafkawire.consumer import Consumer
    from kafkawire.message import Message, RecordMetadata, TopicPartition
    from kafkawire.producer import Producer

__all__ = ["Connection", "Consumer", "Message", "Producer", "RecordMetadata", "TopicPartition", "__version__"]

_HOMES = {
    "Connection": "connection",
    "Consumer": "consumer",
    "Message": "message",
    "Producer": "producer",
    "RecordMetadata": "message",
    "TopicPartition": "message",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found

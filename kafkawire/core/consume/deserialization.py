"""The deserializers that a consumer was given, applied to messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkawire.config import ConsumerOptions
from kafkawire.errors import DeserializationError
from kafkawire.message import Message

__all__ = ["Deserializers", "Messages"]

Messages = list[Message[Any, Any]]
"""Messages whose keys and values are bytes, or what the deserializers made of them."""


class Deserializers:
    """Turns the bytes of keys and values into what a consumer's user wants."""

    def __init__(self, options: ConsumerOptions) -> None:
        self._key: Callable[[bytes], Any] | None = options["key_deserializer"]
        self._value: Callable[[bytes], Any] | None = options["value_deserializer"]

    def apply(self, messages: Messages) -> Messages:
        """Return the messages with keys and values deserialized. Raises DeserializationError for the first that fails."""
        if self._key is None and self._value is None:
            return messages
        return [self._deserialized(message) for message in messages]

    def _deserialized(self, message: Message) -> Message[Any, Any]:
        try:
            key = message.key if self._key is None or message.key is None else self._key(message.key)
            value = message.value if self._value is None or message.value is None else self._value(message.value)
        except Exception as error:
            raise DeserializationError(message, error) from error
        return message._replace(key=key, value=value)

"""Arguments of public calls, checked and converted from the forms in which users may give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from kafkawire.core.arguments import LAST_PARTITION, is_whole
from kafkawire.errors import ConfigurationError
from kafkawire.message import TopicPartition

__all__ = ["SomePartition", "one_time", "options_only", "partition_of", "partitions_of", "times_of", "topic_names"]

SomePartition = TopicPartition | tuple[str, int]


def partition_of(given: SomePartition) -> TopicPartition:
    """Convert a partition given by a user. Raises ConfigurationError unless it is a pair of a topic and a number."""
    match given:
        case (str(topic), number) if is_whole(number) and 0 <= number <= LAST_PARTITION:
            return TopicPartition(topic, index(number))
    raise ConfigurationError(f"{given!r} is not a partition: give (topic, number), or a TopicPartition")


def partitions_of(given: Any) -> list[TopicPartition]:
    """Convert an iterable of partitions given by a user.

    Raises TypeError if it cannot be iterated over, ConfigurationError if an item is not a partition.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"partitions are a list of (topic, number), not {type(given).__name__}: {given!r}")
    return [partition_of(tp) for tp in given]


def times_of(given: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int]) -> dict[TopicPartition, int]:
    """Convert a dict of partition to time given by a user; the times are not checked.

    Raises TypeError if it is not a mapping, ConfigurationError if a key is not a partition.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"times are a dict such as {{(topic, number): milliseconds}}, not {type(given).__name__}: {given!r}")
    return {partition_of(tp): time for tp, time in given.items()}


def topic_names(given: Iterable[str | Iterable[str]]) -> list[str]:
    """Flatten the topics a consumer is made with, names or lists of names, to distinct names.

    Raises ConfigurationError for anything else, with advice for users of clients that take a dict of properties there.
    """
    names: dict[str, None] = {}
    for one in given:
        if isinstance(one, Mapping):
            raise ConfigurationError(
                "Consumer takes topics, and options as keywords: Consumer('topic', bootstrap_servers='host:9092', ...); "
                "for a dict of Kafka properties there is Consumer.from_properties('topic', properties={...})"
            )
        several = one if isinstance(one, list | tuple | set | frozenset) else [one]
        for name in several:
            if not isinstance(name, str) or not name:
                kind = "an empty text" if name == "" else f"of the type {type(name).__name__}"
                raise ConfigurationError(f"Consumer takes the names of topics, as in Consumer('topic', ...): one is {kind}")
            names[name] = None
    return list(names)


def options_only(kind: str, given: tuple[object, ...]) -> None:
    """Raise ConfigurationError if the constructor of a `kind` was given positional arguments."""
    if given:
        raise ConfigurationError(
            f"{kind} takes options as keywords: {kind}(bootstrap_servers='host:9092', ...); "
            f"for a dict of Kafka properties there is {kind}.from_properties({{...}})"
        )


def one_time(timestamp: int | None, timestamp_ms: int | None) -> int | None:
    """Return the timestamp of a record, given by either name; `timestamp_ms` is that of kafka-python and aiokafka.

    Raises ConfigurationError if both are given.
    """
    if timestamp is not None and timestamp_ms is not None:
        raise ConfigurationError("timestamp and timestamp_ms are two names for the same: give one of them")
    return timestamp if timestamp_ms is None else timestamp_ms

"""Checks of what users pass to calls, before a call changes anything."""

from __future__ import annotations

from math import isnan
from numbers import Integral, Real
from typing import Any

from kafkawire.errors import ConfigurationError

__all__ = [
    "LAST_OFFSET",
    "LAST_PARTITION",
    "LAST_SIZE",
    "check_callable",
    "check_node",
    "check_partition",
    "check_range",
    "check_timestamp",
    "check_topic",
    "is_whole",
    "seconds",
]

LAST_TIMESTAMP = (1 << 62) - 1
"""Half of what an int64 holds, so that differences fit too."""
LAST_OFFSET = (1 << 63) - 1
LAST_PARTITION = LAST_SIZE = (1 << 31) - 1
LONGEST_NAME = 32_767
"""Bytes of a string in Kafka's protocol; brokers judge the rest of a topic's name."""


def check_topic(topic: object) -> None:
    """Raise TypeError or ConfigurationError for what cannot be the name of a topic."""
    if not isinstance(topic, str):
        raise TypeError(f"a topic is a str, not {type(topic).__name__}: {topic!r}")
    if not topic:
        raise ConfigurationError("a topic name cannot be empty")
    try:
        size = len(topic.encode())
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"topic {topic!r} cannot be encoded: {error}") from None
    if size > LONGEST_NAME:
        raise ConfigurationError(f"a topic name of {size} bytes: brokers take 249")


def check_partition(partition: object) -> None:
    """Raise TypeError for what cannot be the number of a partition."""
    if not is_whole(partition):
        raise TypeError(f"partition is an int, not {type(partition).__name__}: {partition!r}")


def check_node(node: object) -> None:
    """Raise TypeError for what cannot be the id of a broker."""
    if not is_whole(node):
        raise TypeError(f"a broker is given as its node id, an int, not {type(node).__name__}: {node!r}")


def check_timestamp(timestamp: Any) -> None:
    """Raise ConfigurationError for what is no time that a record can have."""
    if not is_whole(timestamp) or not 0 <= timestamp <= LAST_TIMESTAMP:
        raise ConfigurationError(
            f"timestamp {timestamp!r}: it is whole milliseconds since 1970, 0 to {LAST_TIMESTAMP}, as int(time.time() * 1000)"
        )


def check_range(name: str, number: Any, least: int, most: int = LAST_OFFSET) -> None:
    """Raise TypeError for what is no whole number, ConfigurationError for one that is out of range."""
    if not is_whole(number):
        raise TypeError(f"{name} is an int, not {type(number).__name__}: {number!r}")
    if not least <= number <= most:
        raise ConfigurationError(f"{name} {number} is out of range: it is {least} to {most}")


def check_callable(name: str, given: object) -> None:
    """Raise TypeError for what cannot be called."""
    if not callable(given):
        raise TypeError(f"{name} is a function, not {type(given).__name__}: {given!r}")


def seconds(timeout: Any) -> float:
    """A timeout as it can be added to the time. Raises TypeError, or ConfigurationError for NaN, which never comes."""
    if type(timeout) is float and timeout == timeout:  # noqa: PLR0124 - not NaN; polls come this way
        return timeout
    if isinstance(timeout, bool) or not isinstance(timeout, Real):
        raise TypeError(f"timeout is a number of seconds, not {type(timeout).__name__}: {timeout!r}")
    if isnan(timeout):
        raise ConfigurationError("timeout is a number of seconds, not NaN")
    return float(timeout)


def is_whole(number: object) -> bool:
    """Whether it is a whole number: Python's or numpy's, but no bool."""
    return type(number) is int or (isinstance(number, Integral) and not isinstance(number, bool))

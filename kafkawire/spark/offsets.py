"""Starting and ending offsets: the JVM connector's JSON, resolved to one offset for each partition."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafkawire.errors import ConfigurationError, ErrorCode, OffsetOutOfRangeError
from kafkawire.message import TopicPartition

__all__ = ["EARLIEST", "LATEST", "Bound", "check_kept", "parse_offsets", "parse_partitions"]

LATEST = -1
EARLIEST = -2


@dataclass(frozen=True, slots=True)
class Bound:
    """Start or end of all partitions: an offset or a time (ms), one for all of them or one for each.

    EARLIEST and LATEST stand for offsets. `option` is the name of the option, for messages.
    """

    option: str
    value: int | Mapping[TopicPartition, int]
    is_time: bool = False

    def each(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset or time of each partition. Raises ConfigurationError unless the bound names exactly these partitions."""
        wanted = set(partitions)
        if isinstance(self.value, int):
            return dict.fromkeys(sorted(wanted), self.value)
        if set(self.value) != wanted:
            advice = "" if self.is_time else " Use -1 for latest, -2 for earliest."
            raise ConfigurationError(
                f"{self.option} must name exactly the partitions that are read.{advice}"
                f" Missing: {_shown(wanted - set(self.value))}. Not read: {_shown(set(self.value) - wanted)}."
            )
        return dict(self.value)


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """The numbers of `{"topic": {"partition": number}}`. Raises ConfigurationError for anything else."""
    found = _parse_topics(option, text, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}', dict)
    offsets = {}
    for topic, numbers in found.items():
        for partition, number in numbers.items():
            if not partition.isdecimal() or type(number) is not int:
                raise ConfigurationError(f"{option}: {partition!r}: {number!r} of topic {topic!r} is no partition and number")
            offsets[TopicPartition(topic, int(partition))] = number
    return offsets


def parse_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    """The partitions of `{"topic": [partition, ...]}`. Raises ConfigurationError for anything else."""
    found = _parse_topics(option, text, '{"topicA":[0,1],"topicB":[0,1]}', list)
    for topic, partitions in found.items():
        if any(type(partition) is not int or partition < 0 for partition in partitions):
            raise ConfigurationError(f"{option}: {partitions} of topic {topic!r} are not all partitions")
    return tuple(sorted({TopicPartition(topic, partition) for topic, partitions in found.items() for partition in partitions}))


def check_kept(
    option: str, wanted: Mapping[TopicPartition, int], first: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> None:
    """Raise OffsetOutOfRangeError if a range asks for offsets that the partition no longer has, or not yet."""
    for tp, offset in wanted.items():
        if not first[tp] <= offset <= end[tp]:
            raise OffsetOutOfRangeError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{option}: {tp.topic} partition {tp.partition} at {offset}, where the partition has {first[tp]} to {end[tp]}",
            )


def _parse_topics(option: str, text: str, example: str, kind: type) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, kind) for value in found.values()):
        raise ConfigurationError(f"{option}: expected e.g. {example}, got {text}")
    return found


def _shown(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(f"{tp.topic}-{tp.partition}" for tp in sorted(partitions)) or "none"

"""The options of a batch read and a batch write under the JVM connector's names, checked and made into plain data."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kafkawire.config import ConsumerOptions, ProducerOptions
from kafkawire.errors import ConfigurationError
from kafkawire.message import TopicPartition
from kafkawire.spark.offsets import EARLIEST, LATEST, Bound, parse_offsets, parse_partitions
from kafkawire.spark.properties import PREFIX, consumer_options, producer_options

__all__ = ["ReadOptions", "Subscription", "WriteOptions", "with_headers"]

T = TypeVar("T")
D = TypeVar("D")
_Value = int | Mapping[TopicPartition, int]
_Parse = Callable[[str, str], T]
log = logging.getLogger("kafkawire.spark")

_WHICH = ("subscribe", "subscribePattern", "assign")
_READ = {
    *_WHICH,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
}
_NO_EFFECT_READING = {
    "groupIdPrefix",  # no group is joined
    "fetchOffset.numRetries",  # the client retries until default.api.timeout.ms
    "fetchOffset.retryIntervalMs",
}
_STREAMING = {"maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"}
"""Options of streams, which the JVM connector ignores in a batch query with a warning."""
_WRITE = {"topic", "includeHeaders"}  # headers are written where there is such a column


@dataclass(frozen=True, slots=True)
class Subscription:
    """Partitions to read: all of some topics, all of the topics in whose name a pattern is found, or partitions by number."""

    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a batch read. `parse` raises ConfigurationError for missing, unknown, contradictory or wrong ones."""

    subscription: Subscription
    starting: Bound
    ending: Bound
    latest_if_no_time_matches: bool
    min_partitions: int | None
    max_records: int | None
    headers: bool
    poll_timeout: float
    """Seconds without progress after which a task fails."""
    client: ConsumerOptions = field(repr=False)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        given = _Given(options, _READ | _NO_EFFECT_READING | _STREAMING)
        client = consumer_options(given.options)
        for name in _STREAMING:
            if name in given:
                log.warning("%s is ignored: it limits the batches of a stream, and this is a batch query", name)
        if not given.get("failOnDataLoss", _boolean, True):
            raise ConfigurationError("failOnDataLoss=false is not supported yet: records that are gone are an error")
        strategies = ("error", "latest")
        strategy = given.get("startingOffsetsByTimestampStrategy", _one_of(*strategies), "error")
        return cls(
            subscription=_subscription(given),
            starting=_bound(given, "starting", EARLIEST, LATEST),
            ending=_bound(given, "ending", LATEST, EARLIEST),
            latest_if_no_time_matches=strategy == "latest",
            min_partitions=given.get("minPartitions", _positive, None),
            max_records=given.get("maxRecordsPerPartition", _positive, None),
            headers=with_headers(options),
            poll_timeout=given.get("kafkaConsumer.pollTimeoutMs", _positive, 120_000) / 1000,
            client=client,
        )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a batch write. `parse` raises ConfigurationError as that of ReadOptions does."""

    topic: str | None
    client: ProducerOptions = field(repr=False)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        given = _Given(options, _WRITE)
        return cls(topic=given.get("topic", _text, None), client=producer_options(given.options))


def with_headers(options: Mapping[str, str]) -> bool:
    """True if rows have a column of headers."""
    return _Given(options).get("includeHeaders", _boolean, False)


class _Given:
    """Options as Spark hands them over: text, under names in lower case."""

    def __init__(self, options: Mapping[str, str], known: Iterable[str] = ()) -> None:
        self.options = {name.lower(): value for name, value in options.items()}
        if known:
            self._check_names({name.lower(): name for name in known})

    def __contains__(self, name: str) -> bool:
        return name.lower() in self.options

    def get(self, name: str, parse: _Parse[T], default: D) -> T | D:
        """The value of an option, as `parse` makes it of the option's name and text."""
        text = self.options.get(name.lower())
        return default if text is None else parse(name, text.strip())

    def _check_names(self, known: Mapping[str, str]) -> None:
        for name in self.options:
            if name == "path":
                raise ConfigurationError("load() and save() take no path: topics are named by options")
            if name not in known and not name.startswith(PREFIX):
                near = difflib.get_close_matches(name, [*known, PREFIX + "bootstrap.servers"], n=1, cutoff=0.5)
                advice = f": did you mean {known.get(near[0], near[0])!r}?" if near else ""
                raise ConfigurationError(f"unknown option {name!r}{advice}")


def _subscription(given: _Given) -> Subscription:
    chosen = [name for name in _WHICH if name in given]
    if len(chosen) != 1:
        rule = "Only one of the following options can" if chosen else "One of the following options must"
        raise ConfigurationError(f"{rule} be specified for the Kafka source: {', '.join(_WHICH)}")
    return Subscription(
        topics=given.get("subscribe", _topics, ()),
        pattern=given.get("subscribePattern", _pattern, None),
        partitions=given.get("assign", _partitions, ()),
    )


def _topics(name: str, text: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    if not topics:
        raise ConfigurationError(f"no topics to subscribe to, as the value of {name!r} is {text!r}")
    return topics


def _pattern(name: str, text: str) -> re.Pattern[str]:
    if not text:
        raise ConfigurationError(f"the pattern to subscribe to is empty, as the value of {name!r} is {text!r}")
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigurationError(f"{name}: {text!r} is no regular expression of Python's: {error}") from None


def _partitions(name: str, text: str) -> tuple[TopicPartition, ...]:
    partitions = parse_partitions(name, text)
    if not partitions:
        raise ConfigurationError(f"no partitions to assign, as the value of {name!r} is {text!r}")
    return partitions


def _bound(given: _Given, side: str, default: int, opposite: int) -> Bound:
    """`<side>Timestamp`, else `<side>OffsetsByTimestamp`, else `<side>Offsets`, else the default, as in the JVM connector."""
    for option, parse in ((f"{side}Timestamp", _milliseconds), (f"{side}OffsetsByTimestamp", _times)):
        if option in given:
            return Bound(option, given.get(option, parse, 0), is_time=True)
    option = f"{side}Offsets"
    value = given.get(option, _offsets, default)
    if opposite in ([value] if isinstance(value, int) else value.values()):
        word = "latest" if opposite == LATEST else "earliest"
        raise ConfigurationError(f"{option} cannot be {word} ({opposite}) for a batch query")
    return Bound(option, value)


def _offsets(name: str, text: str) -> _Value:
    word = {"earliest": EARLIEST, "latest": LATEST}.get(text.lower())
    if word is not None:
        return word
    offsets = parse_offsets(name, text)
    if any(offset < EARLIEST for offset in offsets.values()):
        raise ConfigurationError(f"{name}: an offset is negative; only -1 (latest) and -2 (earliest) have a meaning: {text}")
    return offsets


def _times(name: str, text: str) -> _Value:
    times = parse_offsets(name, text)
    if any(time < 0 for time in times.values()):
        raise ConfigurationError(f"{name}: times are milliseconds since 1970, not negative: {text}")
    return times


def _milliseconds(name: str, text: str) -> _Value:
    if not text.isdecimal():
        raise ConfigurationError(f"{name}: {text!r} is not whole milliseconds since 1970")
    return int(text)


def _positive(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ConfigurationError(f"{name}: {text!r} is not a whole number above 0")
    return int(text)


def _boolean(name: str, text: str) -> bool:
    return _one_of("true", "false")(name, text) == "true"


def _one_of(*choices: str) -> _Parse[str]:
    def parse(name: str, text: str) -> str:
        if text.lower() not in choices:
            raise ConfigurationError(f"{name}: {text!r} is not one of {', '.join(choices)}")
        return text.lower()

    return parse


def _text(name: str, text: str) -> str:
    if not text:
        raise ConfigurationError(f"{name} is empty")
    return text

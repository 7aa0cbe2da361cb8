"""What the blocking and the asyncio face have in common: how they are made, and the calls that never wait."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kafkawire.config import (
    ConnectionOptions,
    ConsumerOptions,
    ProducerOptions,
    forget_secrets,
    from_properties,
    resolve,
    resolve_shared,
)
from kafkawire.core.arguments import LAST_PARTITION, check_range, is_whole, seconds
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.core.produce.accumulator import Counts
from kafkawire.core.produce.batch import Batch
from kafkawire.core.produce.deliveries import Runs
from kafkawire.core.produce.fast_append import no_short_append
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.errors import ConcurrentUseError, ConfigurationError, ForkedError
from kafkawire.events import Event
from kafkawire.message import TopicPartition
from kafkawire.net.base import OwnedNet

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "AsyncClosing",
    "BatchDeliveryFace",
    "Closing",
    "ConnectionFace",
    "ConsumerFace",
    "DeliveryFace",
    "ProducerFace",
    "SomePartition",
    "one_time",
    "options_only",
    "partition_of",
    "partitions_of",
    "shared",
    "times_of",
    "topic_names",
]

SomePartition = TopicPartition | tuple[str, int]


def partition_of(given: SomePartition) -> TopicPartition:
    """A partition as a user names it. Raises ConfigurationError for what is no pair of a topic and a number."""
    match given:
        case (str(topic), number) if is_whole(number) and 0 <= number <= LAST_PARTITION:
            return TopicPartition(topic, index(number))
    raise ConfigurationError(f"{given!r} is not a partition: give (topic, number), or a TopicPartition")


def partitions_of(given: Any) -> list[TopicPartition]:
    """Partitions as a user names them. Raises TypeError for what has no items, else as `partition_of`."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"partitions are a list of (topic, number), not {type(given).__name__}: {given!r}")
    return [partition_of(tp) for tp in given]


def times_of(given: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int]) -> dict[TopicPartition, int]:
    """Partitions with a time each, as a user names them. Raises TypeError for what is no mapping, else as `partition_of`."""
    if not isinstance(given, Mapping):
        raise TypeError(f"times are a dict such as {{(topic, number): milliseconds}}, not {type(given).__name__}: {given!r}")
    return {partition_of(tp): time for tp, time in given.items()}


def topic_names(given: Iterable[str | Iterable[str]]) -> list[str]:
    """The topics that a consumer is made with, each once: names, or lists of them. Raises ConfigurationError for all else."""
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
    """Refuse arguments without a name where there are only options. Raises ConfigurationError."""
    if given:
        raise ConfigurationError(
            f"{kind} takes options as keywords: {kind}(bootstrap_servers='host:9092', ...); "
            f"for a dict of Kafka properties there is {kind}.from_properties({{...}})"
        )


def is_leaving(kind: type[BaseException] | None) -> bool:
    """Whether an exception asks to leave at once: Ctrl-C, cancellation, the end of the interpreter."""
    return kind is not None and not issubclass(kind, Exception)


class Closing:
    """What a `with` statement closes."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if is_leaving(kind):
            self.abandon()
        else:
            self.close()

    def abandon(self) -> None:
        """Close without waiting for anything."""
        self.close()


class AsyncClosing:
    """What an `async with` statement closes."""

    async def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if is_leaving(kind):
            await self.abandon()
        else:
            await self.close()

    async def abandon(self) -> None:
        """Close without waiting for anything."""
        await self.close()


class Face:
    """Holds sockets and threads until it is closed. A face that is dropped unclosed releases them and warns.

    Nothing that a thread, a task or a registry holds may lead to a face, or it could not be dropped.
    """

    _open = False
    """Whether it was made and not closed. Set by its constructor and `close`."""
    _servers: object

    def __del__(self) -> None:
        if not self._open or sys.is_finalizing():
            return
        self._open = False
        if self._drop():
            name = f"{type(self).__module__.rpartition('.')[0]}.{type(self).__name__}"
            text = f"unclosed {name} of {self._servers}: close it, or use it in a `with` statement"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=self)

    def _drop(self) -> bool:
        """Close without waiting, from a finalizer; returns whether that was somebody's task."""
        raise NotImplementedError


class ConnectionFace(Face):
    """The options, the driver and the client of a cluster."""

    net: OwnedNet
    part = False
    """Whether it was made by, and is closed with, a producer or consumer."""

    def __init__(self, net: OwnedNet, servers: str | Sequence[str] | None, options: ConnectionOptions) -> None:
        self.net = net
        if servers is not None and "bootstrap_servers" in options:
            raise ConfigurationError("the servers are given twice: once without a name and once as bootstrap_servers")
        self.options = resolve(ConnectionOptions, options if servers is None else {**options, "bootstrap_servers": servers})
        self.client = ClusterClient(net, self.options)
        forget_secrets(self.options)
        self._servers = self.options["bootstrap_servers"]
        self._open = True

    def _drop(self) -> bool:
        if self.net.closed:
            return False
        self.net.finalize(partial(_shut_unused, self.net))
        return not self.part

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Self:
        """The same from dotted Kafka properties, as `{"bootstrap.servers": ...}`."""
        return cls(**from_properties(ConnectionOptions, properties))

    def bootstrap_connected(self) -> bool:
        """Whether a broker has answered so far; nothing is asked before the first call that needs a broker."""
        return bool(self.client.snapshot.brokers)

    def deadline(self, timeout: float | None) -> float:
        """The time, on the connection's clock, `timeout` seconds from now; default_api_timeout_ms if None."""
        return self.client.net.now() + (self.options["default_api_timeout_ms"] / 1000 if timeout is None else seconds(timeout))


class DeliveryFace:
    """What becomes of one record: number `index` of `batch`."""

    __slots__ = ("batch", "index")

    batch: Batch
    index: int

    def done(self) -> bool:
        """Whether the record is written or given up."""
        return self.batch.done


class BatchDeliveryFace:
    """What becomes of the records of one `send_many` or `send_arrow`."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def done(self) -> bool:
        """Whether every record is written or given up."""
        return all(batch.done for batch, _, _ in self._runs)


class ProducerFace(Face):
    """The options and the core of a producer."""

    _delivery: ClassVar[type[DeliveryFace]]

    def _setup(self, connection: ConnectionFace, options: ProducerOptions) -> None:
        forget_secrets(options)
        self.options = options
        self._net, self._client, self._servers = connection.net, connection.client, options["bootstrap_servers"]
        self._core = ProducerCore(self._client, options, self._delivery)
        self._append = self._core.accumulator.append
        self._short_append = self._core.accumulator.short_append if self._core.plain else no_short_append
        _producers[self._core] = connection.net
        self._open = True

    def _drop(self) -> bool:
        if self._net.closed:
            return False
        self._net.finalize(partial(self._core.finish, "the producer was dropped unclosed"))
        return True

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Self:
        """The same from dotted Kafka properties, as `{"bootstrap.servers": ..., "linger.ms": 5}`."""
        return cls(**from_properties(ProducerOptions, properties))

    def bootstrap_connected(self) -> bool:
        """Whether a broker has answered so far; nothing is asked before the first call that needs a broker."""
        return bool(self._client.snapshot.brokers)

    def counts(self) -> Counts:
        """Records so far: accepted = acknowledged + failed + queued, at any time."""
        return self._core.counts()


class ConsumerFace(Face):
    """The options and the core of a consumer, who is using it, and what it reads."""

    def _setup(self, connection: ConnectionFace, options: ConsumerOptions, topics: Sequence[str]) -> None:
        forget_secrets(options)
        self.options = options
        self._net, self._client, self._servers = connection.net, connection.client, options["bootstrap_servers"]
        self._core = ConsumerCore(self._client, options, topics)
        self._user: object = None
        self._next_ends: dict[TopicPartition, int] | None = None
        """Where `next()` ends, from its first call until it has ended; written by who uses the consumer."""
        self._open = True

    def _drop(self) -> bool:
        if self._net.closed:
            return False
        self._net.finalize(self._core.close)
        return True

    @classmethod
    def from_properties(cls, *topics: str | Iterable[str], properties: Mapping[str, Any]) -> Self:
        """The same from dotted Kafka properties, as `{"bootstrap.servers": ..., "auto.offset.reset": "earliest"}`."""
        return cls(*topics, **from_properties(ConsumerOptions, properties))

    def bootstrap_connected(self) -> bool:
        """Whether a broker has answered so far; nothing is asked before the first call that needs a broker."""
        return bool(self._client.snapshot.brokers)

    def assign(self, partitions: Iterable[SomePartition]) -> None:
        """Read these partitions and no others; those that were read before keep their position."""
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.assign(chosen)

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; those of the constructor's topics once they are known."""
        return self._core.assignment()

    def seek(self, tp: SomePartition, where: int | str) -> None:
        """Go on at an offset, at "earliest", "latest", or "tail:N": N records before the end."""
        with self._alone():
            self._core.seek(partition_of(tp), where)

    def seek_to_beginning(self, *partitions: SomePartition) -> None:
        """Go to the first offset of the partitions, of all that are read if none is named."""
        self._seek_each(partitions, "earliest")

    def seek_to_end(self, *partitions: SomePartition) -> None:
        """Go to the end of the partitions, of all that are read if none is named."""
        self._seek_each(partitions, "latest")

    def pause(self, *partitions: SomePartition) -> None:
        """Return nothing of the partitions until `resume`."""
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.pause(chosen)

    def resume(self, *partitions: SomePartition) -> None:
        """Go on with the partitions where they were paused."""
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.resume(chosen)

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return self._core.paused()

    def events(self) -> list[Event]:
        """What happened to the positions since the last call, oldest first: see `kafkawire.events`.

        At most the newest thousand. Each is also logged, as a warning of the logger "kafkawire.consumer".

            for event in consumer.events():
                if isinstance(event, PositionReset):
                    print(event.topic, event.partition, event.position, event.reason)
        """
        with self._alone():
            return self._core.events()

    def _seek_each(self, partitions: Iterable[SomePartition], where: str) -> None:
        chosen = partitions_of(partitions)
        with self._alone():
            if chosen:
                self._core.seek_each(chosen, where)
            else:
                self._core.seek_all(where)

    def _most(self, max_records: int | None) -> int:
        """The most records that a call returns. Raises TypeError or ConfigurationError for what is no number of records."""
        if max_records is None:
            return self.options["max_poll_records"]
        check_range("max_records", max_records, 0)
        return max_records

    def _caller(self) -> object:
        """Who is calling: a thread, or a task."""
        raise NotImplementedError

    def _enter(self) -> None:
        caller = self._caller()
        if self._user is not None and self._user != caller:
            raise ConcurrentUseError("this consumer is in use by another thread or task: give each its own")
        self._user = caller

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            # A plain store, here and in the faces: an interrupt must not come between the end of a call and its result.
            self._user = None


_producers: weakref.WeakKeyDictionary[ProducerCore, OwnedNet] = weakref.WeakKeyDictionary()
"""With those that were dropped and are still sending."""


def _abandon_producers() -> None:
    """What send() accepted in a child process after fork() would never be sent: it has no sender."""
    error = ForkedError("this producer was made before fork(), in the parent process: make a new one in the child")
    for core in list(_producers):
        core.accumulator.abandon(error)


def _shut_unused(net: OwnedNet) -> None:
    """Close the driver of a connection that was dropped, once none of its producers, dropped with it, is sending any more."""
    for core, its_net in list(_producers.items()):
        if its_net is net:
            core.at_end = partial(_shut_unused, net)
            if core.busy:
                return
    net.shut()


def _flush_at_exit() -> None:
    """The interpreter ends, and its threads but for daemons have: producers that were not closed send what they hold.

    Python runs this after `sys.exit`, the end of the script, Ctrl-C and any other exception, not after SIGTERM or `os._exit`.
    """
    running = {core: net for core, net in list(_producers.items()) if core.running}
    deadlines = {core: net.now() + core.exit_patience for core, net in running.items()}
    try:
        for core in running:
            core.finish("the interpreter ended")
        for core, net in running.items():
            net.drive(core.close(deadlines[core]), core.exit_patience + 1)
    finally:  # also of Ctrl-C
        for core, net in running.items():
            if core.running:
                core.abandon()
                net.cut_off()


atexit.register(_flush_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_producers)


def one_time(timestamp: int | None, timestamp_ms: int | None) -> int | None:
    """The time of a record by either of its names; the second is that of kafka-python and aiokafka."""
    if timestamp is not None and timestamp_ms is not None:
        raise ConfigurationError("timestamp and timestamp_ms are two names for the same: give one of them")
    return timestamp if timestamp_ms is None else timestamp_ms


def shared(kind: type[Any], given: Mapping[str, Any], connection: Any, expected: type[ConnectionFace]) -> Any:
    """The options of something that may use a connection made before. Raises TypeError if that is not the `expected` one."""
    if not isinstance(connection, expected | None):
        name = f"{expected.__module__.removesuffix('.connection')}.{expected.__name__}"
        raise TypeError(f"connection is a {name}, not {type(connection).__name__}: {connection!r}")
    return resolve_shared(kind, given, None if connection is None else connection.options)

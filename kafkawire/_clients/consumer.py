"""Base of the blocking and the asyncio Consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from kafkawire._clients.arguments import SomePartition, partition_of, partitions_of
from kafkawire._clients.connection import ConnectedBase
from kafkawire.config import ConsumerOptions, forget_secrets, from_properties
from kafkawire.core.arguments import check_range
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.errors import ConcurrentUseError
from kafkawire.events import Event
from kafkawire.message import TopicPartition

__all__ = ["ConsumerBase"]


class ConsumerBase(ConnectedBase):
    """Owns the core of a consumer, keeps a second thread or task out, and has the calls that never wait."""

    def _setup(self, options: ConsumerOptions, topics: Sequence[str]) -> None:
        """Make the core; the last step of the constructor, once `_connection` is set."""
        forget_secrets(options)
        self.options = options
        self._servers = options["bootstrap_servers"]
        self._core = ConsumerCore(self._connection.client, options, topics)
        self._user: object = None
        self._next_ends: dict[TopicPartition, int] | None = None
        """End of the run of `next()` calls, from the first until StopIteration; written by the thread or task that calls."""
        self._open = True

    def _drop(self) -> bool:
        net = self._connection.net
        if net.closed:
            return False
        net.finalize(self._core.close)
        return True

    @classmethod
    def from_properties(cls, *topics: str | Iterable[str], properties: Mapping[str, Any]) -> Self:
        """Make a consumer from dotted Kafka properties, as `{"bootstrap.servers": ..., "auto.offset.reset": "earliest"}`."""
        return cls(*topics, **from_properties(ConsumerOptions, properties))

    def assign(self, partitions: Iterable[SomePartition]) -> None:
        """Read these partitions and no others; those that were read before keep their position."""
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.assign(chosen)

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read; those of the constructor's topics once they are known."""
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
        """Go on with the partitions from the offset at which they were paused."""
        chosen = partitions_of(partitions)
        with self._alone():
            self._core.resume(chosen)

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused."""
        return self._core.paused()

    def events(self) -> list[Event]:
        """Return the events of the positions since the last call, oldest first: see `kafkawire.events`.

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
        """Return the record limit of a call, max_poll_records if None. Raises TypeError or ConfigurationError."""
        if max_records is None:
            return self.options["max_poll_records"]
        check_range("max_records", max_records, 0)
        return max_records

    def _caller(self) -> object:
        """Return the identity of the calling thread or task."""
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
            # A plain store, here and in the subclasses: an interrupt must not come between the end of a call and its result.
            self._user = None

"""Producing as flows: what has to wait for metadata, room or acknowledgements, and the life of the sender."""

from __future__ import annotations

import logging
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from kafkawire.config import ProducerOptions
from kafkawire.core.arguments import check_callable, check_partition, check_timestamp, check_topic
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.single_flight import Completion
from kafkawire.core.produce.accumulator import Accumulator, Counts
from kafkawire.core.produce.batch import Batch, DeliveryCallback
from kafkawire.core.produce.columns import Columns, arrow_columns, as_list, check_bytes, checked_headers
from kafkawire.core.produce.deliveries import Runs
from kafkawire.core.produce.sender import Sender
from kafkawire.core.produce.sequences import Idempotence
from kafkawire.errors import ClosedError, DeliveryError, ErrorCode, KafkaError, OwnLimitError, TimedOut
from kafkawire.message import Header
from kafkawire.net.base import NEVER, Signal

__all__ = ["ProducerCore", "wait_done"]

log = logging.getLogger("kafkawire.producer")

_calling_back: ContextVar[object] = ContextVar("kafkawire_calling_back", default=None)
"""The producer whose callbacks this thread or task runs: one of them that closes it must not wait for them."""

CLOSED_TEXT = "the producer is closed: make a new one"


async def wait_done(accumulator: Accumulator, batch: Batch, deadline: float) -> bool:
    """Wait until a batch is written or given up; False if the deadline came first."""
    signal = accumulator.net.signal()
    try:
        return await _watch(accumulator, batch, signal, deadline)
    finally:
        accumulator.forget(signal, batch)


async def _watch(accumulator: Accumulator, batch: Batch, signal: Signal, deadline: float) -> bool:
    while True:
        signal.clear()
        if accumulator.watch(batch, signal):
            return True
        if not await accumulator.net.wait(signal, deadline):
            return batch.done


class ProducerCore:
    """Producer behaviour, under the blocking and the asyncio Producer alike.

    `delivery` makes the objects that `send` returns, which are given a batch and an index.
    """

    def __init__(self, client: ClusterClient, options: ProducerOptions, delivery: Callable[[], Any]) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self.exit_patience = options["exit_flush_timeout_ms"] / 1000
        """Seconds that what ends the process waits for records that are queued."""
        self.accumulator = Accumulator(client.net, options, delivery)
        self._idempotence = Idempotence(client, self.accumulator, options)
        self._sender = Sender(client, self.accumulator, options, self._idempotence)
        self._lock = client.net.lock()
        self._task: Any = None
        self._callbacks: Any = None
        self._sender_end = Completion(client.net)
        self._callbacks_end = Completion(client.net)
        self.closing = False
        """Whether nothing is accepted any more."""
        self._reason = "the producer was closed"
        self.at_end: Callable[[], None] | None = None
        """Called when no flow of this core runs any more. Set by the owner that drops the connection."""
        self.plain = options["key_serializer"] is None and options["value_serializer"] is None
        """Whether keys and values are bytes already."""

    # ---- sending

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp: int | None,
        headers: tuple[Header, ...] | None,
        on_delivery: DeliveryCallback | None,
    ) -> Any:
        """Wait for what `append` lacked, for at most max_block_ms, and append.

        Raises UnknownTopicError, BootstrapError, TimedOut, MessageTooLargeError, ClosedError.
        """
        deadline = self._net.now() + self._options["max_block_ms"] / 1000
        await self._know(topic, deadline)
        while True:
            freed = self.accumulator.freed
            handle = self.accumulator.append(topic, value, key, partition, timestamp, headers, on_delivery)
            if handle is not None:
                return handle
            await self._room(topic, freed, deadline)

    def prepare(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | None,
        headers: Iterable[Header] | None,
        on_delivery: DeliveryCallback | None,
    ) -> tuple[bytes | None, bytes | None, tuple[Header, ...] | None]:
        """Value, key and headers as `append` takes them, once all arguments are found to be right.

        Raises TypeError, ConfigurationError, and what a serializer raises.
        """
        check_topic(topic)
        if partition is not None:
            check_partition(partition)
        if timestamp is not None:
            check_timestamp(timestamp)
        checked = None if headers is None else checked_headers(headers)
        if on_delivery is not None:
            check_callable("on_delivery", on_delivery)
        key, value = self.serialize(key, value)
        check_bytes(key, value)
        if on_delivery is not None:
            self.start_callbacks()
        return value, key, checked

    def serialize(self, key: Any, value: Any) -> tuple[bytes | None, bytes | None]:
        """Key and value as bytes; what a serializer raises comes out as it is."""
        of_key, of_value = self._options["key_serializer"], self._options["value_serializer"]
        return key if of_key is None else of_key(key), value if of_value is None else of_value(value)

    def columns(
        self,
        values: Iterable[Any],
        keys: Iterable[Any] | None,
        timestamps: Iterable[int] | None,
        headers: Iterable[Iterable[Header] | None] | None,
    ) -> Columns:
        """Checked columns of bytes. Raises TypeError, ConfigurationError, and what a serializer raises."""
        if not self.plain:
            values = as_list("values", values)
            keys = None if keys is None else as_list("keys", keys)
            Columns([None] * len(values), None if keys is None else [None] * len(keys))
            pairs = [self.serialize(key, value) for key, value in zip(keys or [None] * len(values), values, strict=True)]
            keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        return Columns(values, keys, timestamps, headers)

    async def send_arrow(self, topic: str, table: Any) -> Runs:
        """Send the rows of an Arrow table; see `send_columns`."""
        parts = list(arrow_columns(table))
        await self._check(topic, [(columns, partition) for partition, _, columns in parts])
        runs: Runs = []
        for partition, rows, columns in parts:
            for batch, at, numbers in await self._send_columns(topic, columns, partition):
                runs.append((batch, at, [rows[number] for number in numbers]))
        return runs

    async def send_columns(self, topic: str, columns: Columns, partition: int | None) -> Runs:
        """Send all rows; returns (batch, index of the first record, row numbers) for every run of them.

        A row that is too large and a partition that is not there are found before anything is accepted. Each wait for room
        lasts at most max_block_ms; if it ends in an error, the rows before are sent all the same.
        """
        await self._check(topic, [(columns, partition)])
        return await self._send_columns(topic, columns, partition)

    async def _send_columns(self, topic: str, columns: Columns, partition: int | None) -> Runs:
        runs: Runs = []
        for target, rows in self._by_partition(topic, columns, partition):
            part = columns if len(rows) == len(columns) else columns.take(rows)
            start = 0
            while start < len(part):
                freed = self.accumulator.freed
                run = self.accumulator.append_columns(topic, part, start, target)
                if run is None:
                    await self._room(topic, freed, self._net.now() + self._options["max_block_ms"] / 1000)
                    continue
                runs.append((run.batch, run.at, rows[run.start : run.end]))
                start = run.end
        return runs

    def _by_partition(self, topic: str, columns: Columns, partition: int | None) -> list[tuple[int | None, Sequence[int]]]:
        if partition is not None or (columns.keys is None and self.accumulator.custom is None):
            return [(partition, range(len(columns)))]
        keys = columns.keys if columns.keys is not None else [None] * len(columns)
        rows: dict[int | None, list[int]] = defaultdict(list)
        for row, target in enumerate(self.accumulator.partitions_of(topic, keys)):
            rows[target].append(row)
        return list(rows.items())

    async def _check(self, topic: str, parts: list[tuple[Columns, int | None]]) -> None:
        """Raise for what cannot be accepted, which partly needs the topic's metadata."""
        check_topic(topic)
        for _, partition in parts:
            if partition is not None:
                check_partition(partition)
        await self._know(topic, self._net.now() + self._options["max_block_ms"] / 1000)
        for columns, partition in parts:
            self._check_sizes(topic, columns)
            if partition is not None:
                self.accumulator.check_partition(topic, partition)

    def _check_sizes(self, topic: str, columns: Columns) -> None:
        most = self._options["max_request_size"]
        for row in range(len(columns)):
            if columns.size(row) > most:
                size = columns.size(row)
                raise OwnLimitError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"row {row}, a record of up to {size} bytes for topic {topic!r}: max_request_size is {most} bytes",
                )

    async def _know(self, topic: str, deadline: float) -> None:
        if self.closing:
            raise ClosedError(CLOSED_TEXT)
        if self.accumulator.knows(topic):
            return
        found = await self._client.router.topic(topic, deadline, create=self._options["allow_auto_create_topics"])
        self._start()  # first: an interrupt must not leave a topic that is known and a sender that does not run
        self.accumulator.add_topic(topic, len(found.partitions), random.randrange(1 << 30))

    async def _room(self, topic: str, freed: int, deadline: float) -> None:
        signal = self._net.signal()
        try:
            found = await self._wait_for_room(signal, freed, deadline)
        finally:
            self.accumulator.forget(signal)
        if not found:
            raise TimedOut(
                f"send to {topic!r}: no room in the buffer within max_block_ms; {self.counts().queued} records are queued in "
                f"buffer_memory={self._options['buffer_memory']} bytes"
            )

    async def _wait_for_room(self, signal: Signal, freed: int, deadline: float) -> bool:
        while not self.accumulator.wait_for_room(signal, freed):
            if not await self._net.wait(signal, deadline):
                return False
            signal.clear()
        return True

    def counts(self) -> Counts:
        """What became of every record so far."""
        return self.accumulator.counts()

    # ---- waiting and ending

    async def flush(self, deadline: float) -> None:
        """Wait until everything accepted so far is written or given up. Raises TimedOut with what is left."""
        flush = object()
        try:
            await self._all_done(self.accumulator.start_flush(flush), deadline)
        finally:
            self.accumulator.end_flush(flush)

    async def _all_done(self, batches: list[Batch], deadline: float) -> None:
        for batch in batches:
            if not await wait_done(self.accumulator, batch, deadline):
                counts = self.accumulator.counts()
                raise TimedOut(f"flush: {counts.queued} of {counts.accepted} records are not acknowledged yet")

    def raise_losses(self) -> None:
        """Raise DeliveryError if records failed that nobody has asked about."""
        losses = self.accumulator.losses()
        if losses is not None:
            raise DeliveryError(f"{losses}. Ask the handles, or give on_delivery, to handle failures where they happen", {})

    @property
    def running(self) -> bool:
        """Whether there is a sender that has not ended, in this process."""
        return self._task is not None and not self._sender_end.reached and not self.accumulator.forked

    @property
    def busy(self) -> bool:
        """Whether there is a sender, or somebody who calls back, that has not ended, in this process."""
        calling = self._callbacks is not None and not self._callbacks_end.reached and not self.accumulator.forked
        return self.running or calling

    def finish(self, reason: str) -> None:
        """Accept nothing more, and send what is queued without waiting for more. Does not wait; any thread.

        What is not sent in the end fails for this reason.
        """
        self._reason = reason
        self.closing = True
        self.accumulator.close(ClosedError(CLOSED_TEXT))
        self._sender.closing = True
        self.accumulator.signal.set()
        self.accumulator.callback_signal.set()

    def abandon(self) -> None:
        """Have the sender end at once. Does not wait."""
        self._sender.abandon = True
        self.accumulator.signal.set()

    async def close(self, deadline: float) -> None:
        """Send what is queued until the deadline, fail the rest with ClosedError, end the sender.

        In a child process after fork(), leave what is queued to the parent.
        """
        if self.accumulator.forked:
            self._leave_to_parent()
            return
        if not self.closing:
            self.finish(self._reason)
        if self._task is not None and not await self._sender_end.wait(deadline):
            self.abandon()
            await self._sender_end.wait(self._net.now() + 5.0)
        if self._callbacks is not None and _calling_back.get() is not self:
            await self._callbacks_end.wait(max(deadline, self._net.now() + 1.0))

    def _leave_to_parent(self) -> None:
        queued = self.counts().queued
        if queued and not self.closing:
            log.warning(
                "closed in a child process after fork(): the %d records that were queued are left to the parent process", queued
            )
        self.closing = True

    def _start(self) -> None:
        with self._lock:
            if self._task is None:
                self._task = self._net.spawn(self._run(), name="kafkawire-sender")

    def start_callbacks(self) -> None:
        """Needed once before an `on_delivery` is given."""
        with self._lock:
            if self._callbacks is None:
                self._callbacks = self._net.spawn(self._run_callbacks(), name="kafkawire-callbacks")

    async def _run(self) -> None:
        if not self._sender_end.begin():
            return
        error: KafkaError | None = None
        try:
            await self._send_all(NEVER)
        except KafkaError as failure:
            log.warning("the producer cannot go on: %s", failure)
            error = failure
        except Exception as failure:
            log.exception("the producer cannot go on")
            error = KafkaError(f"the sender ended: {failure!r}")
            raise
        except BaseException as leaving:
            # The event loop ends: asyncio.run() cancels its tasks, and waits for them. One that is dropped can wait no more.
            self.finish("the event loop ended")
            if not isinstance(leaving, GeneratorExit):
                await self._send_all(self._net.now() + self.exit_patience)
            raise
        finally:
            self._end(error or ClosedError(f"{self._reason} before this record was acknowledged"))

    def _end(self, error: KafkaError) -> None:
        """The sender has ended: fail what is left, and say so."""
        self.accumulator.close(error)
        for batch in self._sender.stop():
            self.accumulator.complete(batch, error)
        self.accumulator.fail_all(error)
        line = self.accumulator.last_losses()
        if line is not None:
            log.warning("%s: %s", self._reason, line)
        self._sender_end.reach()
        if self._callbacks_end.reached:
            self._call_finished()
        self.accumulator.callback_signal.set()
        if self.at_end is not None and not self.busy:
            self.at_end()

    async def _send_all(self, until: float) -> None:
        signal = self.accumulator.signal
        finished = False
        while not finished:
            signal.clear()
            due, finished = self._sender.step()
            if self._sender.abandon or self._net.now() >= until:
                break
            if not finished:
                await self._net.wait(signal, min(due, until))

    async def _run_callbacks(self) -> None:
        """Callbacks run here, in order, away from the sender; one that raises is logged and stops no other (trap 142)."""
        if not self._callbacks_end.begin():
            return
        _calling_back.set(self)
        try:
            await self._call_all_back()
        except BaseException as leaving:
            if not isinstance(leaving, GeneratorExit):
                await self._call_all_back()  # see `_run`
            raise
        finally:
            self._callbacks_end.reach()
            if self.at_end is not None and not self.busy:
                self.at_end()

    async def _call_all_back(self) -> None:
        accumulator = self.accumulator
        over = False
        while not over:
            accumulator.callback_signal.clear()
            over = self.closing and (self._task is None or self._sender_end.reached)
            self._call_finished()
            if not over:
                await self._net.wait(accumulator.callback_signal, NEVER)

    def _call_finished(self) -> None:
        while self.accumulator.finished_callbacks:
            _call_back(self.accumulator.finished_callbacks.popleft())


def _call_back(batch: Batch) -> None:
    for index, callback in (batch.callbacks or {}).items():
        if callback is None or index >= batch.count:
            continue
        try:
            try:
                metadata = batch.outcome(index)
            except KafkaError as error:
                callback(error, None)
            else:
                callback(None, metadata)
        except Exception:
            log.exception("an on_delivery callback raised")

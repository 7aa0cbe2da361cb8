"""Records on their way to one partition, from the first `send()` to the acknowledgement."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from kafkawire.core.produce.columns import Columns
from kafkawire.errors import KafkaError, UnsupportedVersionError
from kafkawire.message import Header, RecordMetadata
from kafkawire.net.base import NEVER, Signal
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import encode_columns, encode_message_set, seal_batch
from kafkawire.protocol.wire import Buffer

if TYPE_CHECKING:
    from kafkawire.core.produce.losses import Failure
    from kafkawire.core.produce.partition_queue import PartitionQueue

__all__ = ["NO_SEQUENCE", "Batch", "DeliveryCallback"]

DeliveryCallback = Callable[["KafkaError | None", "RecordMetadata | None"], Any]
"""Called with (None, metadata) for a record that was written, (error, None) for one that was not."""

NO_SEQUENCE = -1
ROWS_PER_RUN = 500
"""From so many records with the same time on, it pays to encode them together."""


class Batch:
    """Records of one partition: open while they are added, then sealed into bytes, at last done.

    They are kept as columns, which are encoded together when the batch leaves: cheaper than one by one in `send()`, and a retry
    in another format needs nothing else.
    """

    __slots__ = (
        "attempts", "base_offset", "base_timestamp", "callbacks", "cause", "children", "closes", "count", "done", "due",
        "error", "expires", "failure", "granted", "headers", "keyed", "keys", "log_append_time", "order", "parent",
        "producer", "queue", "room", "sequence", "stamps", "tick", "values", "waiters", "wire", "wire_magic",
    )  # fmt: skip

    def __init__(self, queue: PartitionQueue, number: int, wall: float, due: float, closes: float, granted: int) -> None:
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] | None = None
        self.headers: list[tuple[Header, ...] | None] | None = None
        """Columns that none of the records needs are None."""
        self.keyed: bool | None = None
        """Whether one more record needs a key or must have none, to be nothing but a value and perhaps a key; else None."""
        self.room = granted
        self.count = 0
        self.base_timestamp = int(wall * 1000)
        self.stamps: list[tuple[int, int]] = [(0, self.base_timestamp)]
        """(index, timestamp in ms): it holds from that record on. The last may have no record."""
        self.tick = (self.base_timestamp + 1) / 1000
        """When the wall clock has this time, records that name none need a new stamp."""
        self.queue = queue
        self.order = (number, 0)
        """Its place among the batches of the partition; the second is for what it was split into."""
        self.due = due
        self.closes = closes
        """When it takes no more records, if it has not left before."""
        self.expires = NEVER
        """When it is given up; known once it takes no more records."""
        self.granted = granted
        self.attempts = 0
        self.sequence = NO_SEQUENCE
        self.producer = (-1, -1)
        self.wire: bytes | bytearray | None = None
        self.wire_magic = 2
        self.base_offset: int | None = None
        self.log_append_time = -1
        self.error: KafkaError | None = None
        self.failure: Failure | None = None
        """With an error: what of it nobody has asked about."""
        self.cause: KafkaError | None = None
        """Why the last attempt has failed; the sender's."""
        self.done = False
        self.parent: Batch | None = None
        self.children: list[tuple[int, Batch]] | None = None
        self.callbacks: dict[int, DeliveryCallback | None] | None = None
        """By record; the last may have no record."""
        self.waiters: dict[Signal, None] = {}

    @property
    def size(self) -> int:
        """Bytes of its records, or of what is sent once it is sealed."""
        return self.granted - self.room if self.wire is None else len(self.wire)

    def restamp(self, wall: float) -> None:
        """The next records have the time of the wall clock, which may also have gone back."""
        now = int(wall * 1000)
        self.tick = (now + 1) / 1000
        self.stamps.append((self.count, now))

    def stamp(self, timestamp: int) -> None:
        """The next record has a timestamp of its own; the one after it is stamped anew."""
        self.stamps.append((self.count, timestamp))
        self.tick = 0.0

    def call_back(self, callback: DeliveryCallback | None) -> None:
        """What to call for the next record, instead of what was meant for one that an interrupt has kept out."""
        self.keyed = None
        if self.callbacks is None:
            self.callbacks = {}
        self.callbacks[self.count] = callback

    def extend(self, columns: Columns, start: int, end: int, wall: float) -> int:
        """Add the rows from `start` to `end` of some columns; returns the index of the first."""
        if columns.timestamps is None:
            self.restamp(wall)
        else:
            self.stamps.extend(enumerate(columns.timestamps[start:end], self.count))
            self.tick = 0.0
        keys = None if columns.keys is None else columns.keys[start:end]
        headers = None if columns.headers is None else columns.headers[start:end]
        return self.put(columns.values[start:end], keys, headers, columns.span(start, end))

    def put(
        self,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        headers: Sequence[tuple[Header, ...] | None] | None,
        size: int,
    ) -> int:
        """Add records of `size` bytes; returns the index of the first.

        An interrupt comes before all of it or after, see `Accumulator.append`; what interrupts may have added records itself.
        """
        count = len(values)
        if keys is None and self.keys is not None:
            keys = [None] * count
        if headers is None and self.headers is not None:
            headers = [None] * count
        if self.keys is None and keys is not None:
            self.keys = [None] * self.count
        if self.headers is None and headers is not None:
            self.headers = [None] * self.count
        own_keys, own_headers, own_values = self.keys, self.headers, self.values
        self.keyed = own_keys is not None if own_headers is None and self.callbacks is None else None
        first = self.count
        self.room -= size
        self.count += count
        if own_keys is not None and keys is not None:
            own_keys += keys
        if own_headers is not None and headers is not None:
            own_headers += headers
        own_values += values
        return first

    def seal(self, magic: int, codec: Codec, level: int | None) -> None:
        """Make the bytes that are sent, once: retries send the same (trap 61). Older brokers get older formats.

        Raises EncodeError, MissingDependencyError, or UnsupportedVersionError for headers that an old format has no room for.
        """
        if self.wire is not None and self.wire_magic == magic:
            return
        if magic < 2:
            self.wire = self._message_set(magic, codec, level)
        else:
            self.wire = seal_batch(
                self._encoded(),
                count=self.count,
                base_timestamp=self.base_timestamp,
                max_timestamp=max(timestamp for _, _, timestamp in self._runs()),
                codec=codec,
                level=level,
                producer_id=self.producer[0],
                producer_epoch=self.producer[1],
                base_sequence=self.sequence,
            )
        self.wire_magic = magic

    def split(self) -> list[Batch]:
        """Two halves for a broker that finds the whole too large (trap 60); they share the sequences of the whole (66)."""
        middle = self.count // 2
        halves = []
        for start, end in ((0, middle), (middle, self.count)):
            half = Batch(self.queue, self.order[0], 0.0, self.due, self.closes, 0)
            half.expires = self.expires
            half.order = (self.order[0], self.order[1] + start)
            half.base_timestamp = self.base_timestamp
            half.values = self.values[start:end]
            half.keys = self.keys and self.keys[start:end]
            half.headers = self.headers and self.headers[start:end]
            half.count = end - start
            if self.callbacks is not None:
                half.callbacks = {index - start: call for index, call in self.callbacks.items() if start <= index < end}
            half.stamps = [(max(index - start, 0), timestamp) for index, timestamp in self.stamps if index < end]
            if self.sequence != NO_SEQUENCE:
                half.producer = self.producer
                half.sequence = (self.sequence + start) & 0x7FFFFFFF
            halves.append(half)
        self.callbacks = None
        return halves

    def release(self) -> None:
        """Let go of the records: the batch is done."""
        self.values, self.keys, self.headers, self.wire = [], None, None, None

    def place(self, index: int) -> tuple[Batch, int]:
        """The batch that record `index` is in after splits, and its index there."""
        batch = self
        while batch.children is not None:
            at = bisect_right(batch.children, index, key=lambda child: child[0]) - 1
            start, batch = batch.children[at]
            index -= start
        return batch, index

    def outcome(self, index: int) -> RecordMetadata:
        """Where record `index` was written; raises why it was not. Only once `done`, and not of a batch that was split."""
        if self.error is not None:
            raise self.error
        offset = None if self.base_offset is None else self.base_offset + index
        timestamp: int | None
        if self.log_append_time >= 0:
            timestamp = self.log_append_time
        elif self.wire_magic > 0:
            timestamp = self._timestamp(index)
        else:
            timestamp = None
        return RecordMetadata(self.queue.topic, self.queue.index, offset, timestamp)

    def _timestamp(self, index: int) -> int:
        return self.stamps[bisect_right(self.stamps, index, key=lambda stamp: stamp[0]) - 1][1]

    def _runs(self) -> Iterator[tuple[int, int, int]]:
        """(start, end, timestamp) of records in a row that have the same time."""
        bounds = [index for index, _ in self.stamps[1:]] + [self.count]
        for (start, timestamp), end in zip(self.stamps, bounds, strict=True):
            if start < min(end, self.count):
                yield start, min(end, self.count), timestamp

    def _encoded(self) -> list[Buffer]:
        if len(self.stamps) > self.count // ROWS_PER_RUN:
            stamps: list[int] = []
            for start, end, timestamp in self._runs():
                stamps += [timestamp] * (end - start)
            return encode_columns(self.values, self.keys, stamps, self.headers, base_timestamp=self.base_timestamp)
        parts: list[Buffer] = []
        for start, end, timestamp in self._runs():
            parts += encode_columns(
                self.values[start:end],
                self.keys and self.keys[start:end],
                timestamp,
                self.headers and self.headers[start:end],
                base_timestamp=self.base_timestamp,
                first_delta=start,
            )
        return parts

    def _message_set(self, magic: int, codec: Codec, level: int | None) -> bytes:
        if self.headers is not None:
            raise UnsupportedVersionError(f"topic {self.queue.topic!r}: the broker is older than 0.11 and keeps no headers")
        keys = self.keys or repeat(None)
        stamps = (timestamp for start, end, timestamp in self._runs() for _ in range(start, end))
        return encode_message_set(magic, zip(keys, self.values, stamps, strict=False), codec=codec, level=level)

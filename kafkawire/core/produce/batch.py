"""Records on their way to one partition: one batch from its first record to its last acknowledgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import repeat
from typing import Any

from kafkawire.core.produce.columns import Columns
from kafkawire.core.produce.deliveries import BatchCompletion
from kafkawire.core.produce.losses import FailedBatch
from kafkawire.core.produce.sequences import NO_SEQUENCE, advance
from kafkawire.core.states import Transitions, transition
from kafkawire.errors import KafkaError, UnsupportedVersionError
from kafkawire.message import Header, RecordMetadata
from kafkawire.net.base import NEVER, Signal
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import encode_columns, encode_message_set, seal_batch
from kafkawire.protocol.wire import Buffer

__all__ = ["OPEN_FOR", "Batch", "BatchState", "DeliveryCallback"]

DeliveryCallback = Callable[["KafkaError | None", "RecordMetadata | None"], Any]
"""Called with (None, metadata) for a record that was written, (error, None) for one that failed."""

OPEN_FOR = 1 / 20
"""Part of delivery_timeout_ms for which a batch that cannot be sent takes records beyond linger_ms.

The timeout of all its records runs from its closing, so that none is given up early. The first is given up late by as much
as the batch was open; a smaller part would make more and smaller batches of records that wait for a broker.
"""
ROWS_PER_RUN = 500
"""Number of records with the same timestamp from which it pays to encode them together."""


class BatchState(Enum):
    """Stage of a batch between its making and its end."""

    NEW = "new"
    """Not in the queue of its partition yet."""
    OPEN = "open"
    """Takes records."""
    READY = "ready"
    """Closed to further records, and queued to be sent, for the first time or again."""
    IN_FLIGHT = "in flight"
    """Taken from the queue by the sender, until a broker's answer or the sender decides on it."""
    SPLIT = "split"
    """Replaced by its halves, which complete it."""
    ACKNOWLEDGED = "acknowledged"
    """Written by a broker; with acks=0, handed to the network."""
    FAILED = "failed"
    """Given up."""


TRANSITIONS: Transitions[BatchState] = {
    BatchState.NEW: {BatchState.OPEN, BatchState.READY},  # the halves of a batch that was split are never open
    BatchState.OPEN: {BatchState.READY},
    BatchState.READY: {BatchState.IN_FLIGHT, BatchState.FAILED},
    BatchState.IN_FLIGHT: {BatchState.READY, BatchState.SPLIT, BatchState.ACKNOWLEDGED, BatchState.FAILED},
}


class Batch:
    """Records of one partition, from the first that is added until all are acknowledged or have failed.

    They are kept as columns, which are encoded together when the batch is sent: cheaper than one by one in `send()`, and a
    retry in another format needs nothing else.

    All methods run with the accumulator's lock held, but those of the sender's flow: `seal` and `note_failure`. The short
    append writes the columns, `count` and `room` of an open batch itself, under the same lock.
    """

    __slots__ = (
        "attempts", "base_timestamp", "callbacks", "closes", "completion", "count", "due", "expires", "granted", "headers",
        "keyed", "keys", "order", "partition", "producer", "room", "sequence", "stamps", "state", "tick", "topic", "values",
        "wire", "wire_magic",
    )  # fmt: skip

    def __init__(
        self, completion: BatchCompletion, order: tuple[int, int], wall: float, due: float, closes: float, granted: int
    ) -> None:
        self.state = BatchState.NEW
        self.completion = completion
        self.topic = completion.topic
        self.partition = completion.partition
        self.order = order
        """Place among the batches of the partition; the second number is that of a half within the batch that was split."""
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] | None = None
        """Column of the keys; like that of the headers None while no record has any."""
        self.headers: list[tuple[Header, ...] | None] | None = None
        self.keyed: bool | None = None
        """True if a record with a key, and nothing else but a value, can be appended as it is; False if one without a key can.

        None if every record needs more than that.
        """
        self.granted = granted
        """Bytes of the producer's budget that are set aside for the batch."""
        self.room = granted
        """Part of `granted` that no record takes yet."""
        self.count = 0
        self.base_timestamp = int(wall * 1000)
        self.stamps: list[tuple[int, int]] = [(0, self.base_timestamp)]
        """(index, timestamp in ms from that record on), by index. The last may have no record."""
        self.tick = (self.base_timestamp + 1) / 1000
        """Time of the wall clock from which records without a timestamp of their own need a new stamp."""
        self.callbacks: dict[int, DeliveryCallback | None] | None = None
        """Callbacks by index of the record. The last may have no record."""
        self.due = due
        """Time at which linger_ms is over."""
        self.closes = closes
        """Time from which it takes no more records, even if it cannot be sent."""
        self.expires = NEVER
        """Time at which it is given up, known once it is closed."""
        self.attempts = 0
        """Attempts to send it that have failed."""
        self.sequence = NO_SEQUENCE
        self.producer = (-1, -1)
        """Producer id and epoch that `sequence` belongs to."""
        self.wire: bytes | bytearray | None = None
        """The encoded batch, once it is sealed."""
        self.wire_magic = 2

    def __repr__(self) -> str:
        return f"<Batch {self.order} of {self.topic}-{self.partition}: {self.count} records, {self.state.value}>"

    @property
    def size(self) -> int:
        """Bytes of the records, or of the encoded batch once it is sealed."""
        return self.granted - self.room if self.wire is None else len(self.wire)

    # ---- stages: see BatchState. Each method stores only after its last call, so that an interrupt parts no stores.

    def open(self) -> None:
        """Take records as the open batch of its partition."""
        self.state = transition(TRANSITIONS, self.state, BatchState.OPEN, self)

    def close(self, expires: float) -> int:
        """Take no more records, and be given up at `expires`; returns the bytes of the grant that are left over."""
        self.state = transition(TRANSITIONS, self.state, BatchState.READY, self)
        left = self.room
        self.granted -= left
        self.room = 0
        self.expires = expires
        return left

    def queue(self) -> None:
        """Wait to be sent: again, or for the first time as the half of a batch that was split."""
        self.state = transition(TRANSITIONS, self.state, BatchState.READY, self)

    def take(self) -> None:
        """Be in flight."""
        self.state = transition(TRANSITIONS, self.state, BatchState.IN_FLIGHT, self)

    def acknowledge(self, offset: int | None, log_append_time: int) -> list[Signal]:
        """End as written at `offset`; returns the signals to set once the lock is released."""
        self.state = transition(TRANSITIONS, self.state, BatchState.ACKNOWLEDGED, self)
        self._release()
        return self.completion.acknowledge(offset, log_append_time, self.stamps if self.wire_magic > 0 else None)

    def fail(self, error: KafkaError, failed: FailedBatch) -> list[Signal]:
        """End as given up; returns the signals to set once the lock is released."""
        self.state = transition(TRANSITIONS, self.state, BatchState.FAILED, self)
        self._release()
        return self.completion.fail(error, failed)

    def split(self) -> tuple[Batch, Batch]:
        """End as two halves, for a broker that finds the batch too large (trap 60); they share its sequences (trap 66)."""
        self.state = transition(TRANSITIONS, self.state, BatchState.SPLIT, self)
        middle = self.count // 2
        completions = self.completion.split(middle)
        halves = self._part(completions[0], 0, middle, self.granted), self._part(completions[1], middle, self.count, 0)
        self.callbacks = None
        self._release()
        return halves

    def _part(self, completion: BatchCompletion, start: int, end: int, granted: int) -> Batch:
        part = Batch(completion, (self.order[0], self.order[1] + start), 0.0, self.due, self.closes, granted)
        part.room = 0
        part.expires = self.expires
        part.base_timestamp = self.base_timestamp
        part.values = self.values[start:end]
        part.keys = self.keys and self.keys[start:end]
        part.headers = self.headers and self.headers[start:end]
        part.count = end - start
        if self.callbacks is not None:
            part.callbacks = {index - start: call for index, call in self.callbacks.items() if start <= index < end}
        part.stamps = [(max(index - start, 0), timestamp) for index, timestamp in self.stamps if index < end]
        if self.sequence != NO_SEQUENCE:
            part.producer = self.producer
            part.sequence = advance(self.sequence, start)
        return part

    def _release(self) -> None:
        self.values, self.keys, self.headers, self.wire = [], None, None, None

    # ---- records

    def grant(self, size: int) -> None:
        """Set aside `size` more bytes of the producer's budget."""
        self.granted += size
        self.room += size

    def restamp(self, wall: float) -> None:
        """Give the next records the time of the wall clock, which may also have gone back."""
        now = int(wall * 1000)
        self.tick = (now + 1) / 1000
        self.stamps.append((self.count, now))

    def stamp(self, timestamp: int) -> None:
        """Give the next record a timestamp of its own; the record after it is stamped anew."""
        self.stamps.append((self.count, timestamp))
        self.tick = 0.0

    def set_callback(self, callback: DeliveryCallback | None) -> None:
        """Give the next record a callback, in place of one for a record that an interrupt has kept out."""
        self.keyed = None
        if self.callbacks is None:
            self.callbacks = {}
        self.callbacks[self.count] = callback

    def drop_callback(self) -> None:
        """Give the next record none, in place of one for a record that an interrupt has kept out."""
        if self.callbacks is not None:
            self.callbacks.pop(self.count, None)

    def given_callbacks(self) -> dict[int, DeliveryCallback]:
        """Return the callbacks of its records by their index."""
        calls = self.callbacks or {}
        return {index: call for index, call in calls.items() if call is not None and index < self.count}

    def extend(self, columns: Columns, start: int, end: int, wall: float) -> int:
        """Add the rows from `start` to `end` of `columns`; returns the index of the first."""
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

        An interrupt comes before all its stores or after them, see `Accumulator.append`; a handler that runs then may have
        added records itself.
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

    # ---- sending

    def number(self, producer: tuple[int, int], sequence: int) -> None:
        """Set the sequence number of the first record, under a producer id and epoch."""
        self.producer = producer
        self.sequence = sequence

    def forget_number(self) -> None:
        """Drop the sequence number, and the encoded batch that has it inside, for a new producer id (trap 66)."""
        self.sequence = NO_SEQUENCE
        self.wire = None

    def note_failure(self, cause: KafkaError) -> None:
        """Count an attempt to send it that has failed. The sender's flow."""
        self.attempts += 1
        self.completion.cause = cause

    def seal(self, magic: int, codec: Codec, level: int | None) -> None:
        """Encode it, once: retries send the same bytes (trap 61). Older brokers get older formats. The sender's flow.

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

    def _runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (start, end, timestamp) of the records in a row that have the same timestamp."""
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
            raise UnsupportedVersionError(f"topic {self.topic!r}: the broker is older than 0.11 and keeps no headers")
        keys = self.keys or repeat(None)
        stamps = (timestamp for start, end, timestamp in self._runs() for _ in range(start, end))
        return encode_message_set(magic, zip(keys, self.values, stamps, strict=False), codec=codec, level=level)

"""Records on their way to one partition, from the first `send()` to the acknowledgement."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kafkawire.errors import KafkaError, UnsupportedVersionError
from kafkawire.message import Message, RecordMetadata
from kafkawire.net.base import Signal
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import (
    VARINTS,
    decode_columns,
    encode_columns,
    encode_message_set,
    messages,
    read_batches,
    seal_batch,
)

if TYPE_CHECKING:
    from kafkawire.core.queues import PartitionQueue

__all__ = ["NO_SEQUENCE", "Batch", "DeliveryCallback"]

DeliveryCallback = Callable[["RecordMetadata | None", "KafkaError | None"], Any]
"""Called with (metadata, None) for a record that was written, (None, error) for one that was not."""

NO_SEQUENCE = -1


class Batch:
    """Records of one partition: open while they are added, then sealed into bytes, at last done.

    The fields up to `tick` belong to the hot path of `Accumulator.append`.
    """

    __slots__ = (
        "attempts", "base_offset", "base_timestamp", "callbacks", "children", "count", "delta", "done", "due", "error",
        "expires", "granted", "log_append_time", "order", "parent", "parts", "producer", "queue", "room",
        "sequence", "stamp", "stamps", "tick", "waiters", "wire", "wire_magic",
    )  # fmt: skip

    def __init__(self, queue: PartitionQueue, number: int, wall: float, due: float, expires: float, granted: int) -> None:
        self.parts: list[Any] = []
        self.room = granted
        self.count = 0
        self.base_timestamp = int(wall * 1000)
        self.delta = 0
        self.stamp = b"\0"
        """The timestamp delta (ms) of records that name no time, as a varint; good until the wall clock reaches `tick`."""
        self.tick = (self.base_timestamp + 1) / 1000
        self.stamps: list[tuple[int, int]] = [(0, 0)]
        """(index, delta): from that record on the timestamp is that many ms after the base. The last may have no record."""
        self.queue = queue
        self.order = (number, 0)
        """Its place among the batches of the partition; the second is for what it was split into."""
        self.due = due
        self.expires = expires
        self.granted = granted
        self.attempts = 0
        self.sequence = NO_SEQUENCE
        self.producer = (-1, -1)
        self.wire: bytes | bytearray | None = None
        self.wire_magic = 2
        self.base_offset: int | None = None
        self.log_append_time = -1
        self.error: KafkaError | None = None
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

    def restamp(self, wall: float) -> bytes:
        """Bring `delta` and `stamp` up to the wall clock, which may also have gone back."""
        self.delta = int(wall * 1000) - self.base_timestamp
        self.tick = (self.base_timestamp + self.delta + 1) / 1000
        self.stamp = VARINTS[self.delta]
        self.stamps.append((self.count, self.delta))
        return self.stamp

    def note_timestamp(self, timestamp: int) -> None:
        """The next record has a timestamp of its own; the one after it is stamped anew."""
        self.stamps.append((self.count, timestamp - self.base_timestamp))
        self.tick = 0.0

    def stamp_rows(self, timestamps: Sequence[int] | None, count: int, wall: float) -> Sequence[int] | None:
        """The timestamps (ms) of the next `count` rows, the wall clock's where none are given; None: all have the base's."""
        if timestamps is None:
            self.restamp(wall)
            return [self.base_timestamp + self.delta] * count if self.delta else None
        self.stamps.extend(enumerate((timestamp - self.base_timestamp for timestamp in timestamps), self.count))
        self.tick = 0.0
        return timestamps

    def seal(self, magic: int, codec: Codec, level: int | None) -> None:
        """Make the bytes that are sent, once: retries send the same (trap 61). Older brokers get older formats.

        Raises EncodeError, MissingDependencyError, or UnsupportedVersionError for headers that an old format has no room for.
        """
        if self.wire is not None and self.wire_magic == magic:
            return
        if self.wire is None:
            self.wire = seal_batch(
                self.parts,
                count=self.count,
                base_timestamp=self.base_timestamp,
                max_timestamp=self._max_timestamp(),
                codec=codec if magic == 2 else Codec.NONE,
                level=level,
                producer_id=self.producer[0],
                producer_epoch=self.producer[1],
                base_sequence=self.sequence,
            )
        if magic < 2:
            records = self._records()
            if any(m.headers for m in records):
                raise UnsupportedVersionError(f"topic {self.queue.topic!r}: the broker is older than 0.11 and keeps no headers")
            rows = ((m.key, m.value, m.timestamp) for m in records)
            self.wire = encode_message_set(magic, rows, codec=codec, level=level)
        self.wire_magic = magic
        self.parts = []

    def unseal(self) -> None:
        """Go back to loose records, for a leader of another format or a new producer id."""
        if self.wire is not None:
            self._load(self._records())
            self.wire = None

    def split(self) -> list[Batch]:
        """Two halves for a broker that finds the whole too large (trap 60); they share the sequences of the whole (66)."""
        records = self._records()
        middle = len(records) // 2
        halves = []
        for start, part in ((0, records[:middle]), (middle, records[middle:])):
            half = Batch(self.queue, self.order[0], 0.0, self.due, self.expires, 0)
            half.order = (self.order[0], self.order[1] + start)
            half.base_timestamp = self.base_timestamp
            half._load(part)
            if self.sequence != NO_SEQUENCE:
                half.producer = self.producer
                half.sequence = (self.sequence + start) & 0x7FFFFFFF
            halves.append(half)
        return halves

    def outcome(self, index: int) -> RecordMetadata:
        """Where record `index` was written; raises why it was not. Only once `done`."""
        if self.children is not None:
            at = bisect_right(self.children, index, key=lambda child: child[0]) - 1
            start, child = self.children[at]
            return child.outcome(index - start)
        if self.error is not None:
            raise self.error
        offset = None if self.base_offset is None else self.base_offset + index
        timestamp: int | None
        if self.log_append_time >= 0:
            timestamp = self.log_append_time
        elif self.wire_magic > 0:
            timestamp = self.base_timestamp + self.stamps[bisect_right(self.stamps, index, key=lambda s: s[0]) - 1][1]
        else:
            timestamp = None
        return RecordMetadata(self.queue.topic, self.queue.index, offset, timestamp)

    def _max_timestamp(self) -> int:
        return self.base_timestamp + max(delta for index, delta in self.stamps if index < self.count)

    def _load(self, records: list[Message]) -> None:
        stamps = [self.base_timestamp if m.timestamp is None else m.timestamp for m in records]
        self.parts = list(
            encode_columns(
                [m.value for m in records],
                [m.key for m in records],
                stamps,
                [m.headers for m in records],
                base_timestamp=self.base_timestamp,
            )
        )
        self.count = len(records)
        self.stamps = [(index, stamp - self.base_timestamp) for index, stamp in enumerate(stamps)]

    def _records(self) -> list[Message]:
        wire = self.wire
        if wire is None:
            wire = seal_batch(self.parts, count=self.count, base_timestamp=self.base_timestamp, max_timestamp=0)
        return messages(decode_columns(list(read_batches(wire, check_crcs=False)), limit=1 << 31), "", 0)

"""The plain data that users get and give: records read, positions, acknowledgements."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Header", "Message", "RecordMetadata", "TopicPartition"]

Header = tuple[str, "bytes | None"]
"""A record header: names may repeat and their order is kept (trap 37)."""


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Message(NamedTuple):
    """One record as it was read.

    `timestamp` is in milliseconds since the epoch, None where the format has none; `timestamp_type` is 0 for the
    producer's time, 1 for the broker's, None without a timestamp. `leader_epoch` is None where the broker sent none.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    leader_epoch: int | None = None

    @property
    def payload(self) -> bytes | None:
        """The same as `value`."""
        return self.value

    @property
    def next_offset(self) -> int:
        """`offset + 1`. Where to go on reading is the consumer's `position`, which also skips gaps."""
        return self.offset + 1


class RecordMetadata(NamedTuple):
    """Where a record was written.

    `offset` is None with acks=0 and for a duplicate whose offset the broker no longer knows (trap 63); `timestamp` is in
    milliseconds, the broker's where the topic uses LogAppendTime (trap 35), and None where the format has none.
    """

    topic: str
    partition: int
    offset: int | None
    timestamp: int | None

"""Plain data that users get and give: records, partitions, acknowledgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from kafkawire.foreign_methods import MESSAGE, METADATA, instead_of

if TYPE_CHECKING:
    # `typing` has defaults from Python 3.13 on; type checkers know this module whether it is installed or not.
    from typing_extensions import TypeVar

    K = TypeVar("K", default=bytes)
    V = TypeVar("V", default=bytes)
    SentK = TypeVar("SentK", default=Any)
    SentV = TypeVar("SentV", default=Any)
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")
    SentK = TypeVar("SentK")
    SentV = TypeVar("SentV")

__all__ = ["Header", "K", "Message", "RecordMetadata", "SentK", "SentV", "TopicPartition", "V"]

Header = tuple[str, "bytes | None"]
"""Header of a record: (name, value). Names may repeat, and their order is kept (trap 37)."""


class TopicPartition(NamedTuple):
    """Partition of a topic: its name and number. A plain tuple of both equals it."""

    topic: str
    partition: int


@instead_of(MESSAGE)
class Message(NamedTuple, Generic[K, V]):
    """Record that was read. Key and value are bytes, or of the types that deserializers made: `Message[str, Order]`.

    Attributes:
        topic: Name of the topic.
        partition: Number of the partition.
        offset: Offset in the partition.
        timestamp: Milliseconds since the epoch; None in the oldest format, which has no timestamps.
        timestamp_type: 0 if the producer set the timestamp, 1 if the broker did; None without a timestamp.
        key: The key, or None.
        value: The value, or None.
        headers: Pairs of a name and bytes or None.
        leader_epoch: Leader epoch of the batch; None if the broker sent none.

    Example:
        >>> message = Message("flights", 0, 17, 1_700_000_000_000, 0, b"UA", b"EWR-IAH")
        >>> message.value, message.next_offset
        (b'EWR-IAH', 18)
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: int | None
    key: K | None
    value: V | None
    headers: tuple[Header, ...] = ()
    leader_epoch: int | None = None

    @property
    def payload(self) -> V | None:
        """Another name for `value`."""
        return self.value

    @property
    def next_offset(self) -> int:
        """`offset + 1`. The consumer's `position` may be later: it skips gaps."""
        return self.offset + 1


@instead_of(METADATA)
class RecordMetadata(NamedTuple):
    """Place where a record was written, as its acknowledgement says.

    Attributes:
        topic: Name of the topic.
        partition: Number of the partition.
        offset: Offset in the partition; None with acks=0, and for a duplicate whose offset the broker has forgotten (trap 63).
        timestamp: Milliseconds since the epoch, set by the broker if the topic has LogAppendTime (trap 35); None in the oldest
            format, which has no timestamps.
    """

    topic: str
    partition: int
    offset: int | None
    timestamp: int | None

"""The plain data that users get and give: records read, positions, acknowledgements."""

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
"""A record header: names may repeat and their order is kept (trap 37)."""


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


@instead_of(MESSAGE)
class Message(NamedTuple, Generic[K, V]):
    """One record as it was read: `Message[str, Order]` has keys and values as deserializers made them, `Message` has bytes.

    `timestamp` is in milliseconds since the epoch, None where the format has none; `timestamp_type` is 0 for the
    producer's time, 1 for the broker's, None without a timestamp. `leader_epoch` is None where the broker sent none.
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
        """The same as `value`."""
        return self.value

    @property
    def next_offset(self) -> int:
        """`offset + 1`. Where to go on reading is the consumer's `position`, which also skips gaps."""
        return self.offset + 1


@instead_of(METADATA)
class RecordMetadata(NamedTuple):
    """Where a record was written.

    `offset` is None with acks=0 and for a duplicate whose offset the broker no longer knows (trap 63); `timestamp` is in
    milliseconds, the broker's where the topic uses LogAppendTime (trap 35), and None where the format has none.
    """

    topic: str
    partition: int
    offset: int | None
    timestamp: int | None

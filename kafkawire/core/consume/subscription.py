"""Where a consumer is in each of its partitions."""

from __future__ import annotations

from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST
from kafkawire.errors import ConfigurationError
from kafkawire.message import TopicPartition
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["PartitionState", "parse_start"]


LONGEST_OFFSET = 20
"""Digits that no offset has."""


class PartitionState:
    """One assigned partition.

    `position` is the next offset to hand out as far as nothing of the partition is buffered, None while `start` is being
    resolved. `epoch` grows with every seek or pause: what was fetched for an older one is discarded (trap 100).
    """

    __slots__ = (
        "end",
        "epoch",
        "failures",
        "leader_epoch",
        "log_start",
        "lost",
        "paused",
        "position",
        "retry_at",
        "start",
        "topic_id",
        "tp",
        "unreadable",
    )

    def __init__(self, tp: TopicPartition, start: int | str) -> None:
        self.tp = tp
        self.epoch = 0
        self.paused = False
        self.position: int | None = None
        self.start: int | str = start
        """Where to begin while the position is not known: EARLIEST, LATEST, or "tail:N"; "none" is an error."""
        self.end: int | None = None
        """The high watermark, as far as answers have told it."""
        self.log_start: int | None = None
        self.topic_id = ZERO_UUID
        """The topic that the position belongs to; zero while that is not known, and where brokers have no topic ids."""
        self.leader_epoch = -1
        """There the epoch in which a leader has answered last: that of a topic that is created again begins at zero."""
        self.retry_at = 0.0
        self.failures = 0
        self.unreadable = 0
        """Answers in a row that could not be read, or refused the whole request."""
        self.lost = False
        """Whether the log has no such position any more, and no other has been found or sought since.

        The topic may then be another than metadata says.
        """

    @property
    def topic_id_known(self) -> bool:
        return self.topic_id != ZERO_UUID

    def is_of_another(self, topic_id: bytes) -> bool:
        """Whether the position belongs to another topic than this one of the same name."""
        return self.topic_id_known and topic_id not in (self.topic_id, ZERO_UUID)

    def seek(self, position: int | None, start: int | str) -> None:
        """Go to an offset, or to wherever `start` resolves to.

        An offset is one of the topic that was read so far: the caller cannot know yet that it has been created again. Once the
        position is lost, the caller does.
        """
        if position is None or self.lost:
            self.topic_id = ZERO_UUID
            self.leader_epoch = -1
        self.start = start
        self.position = position
        self.retry_at = 0.0
        self.failures = 0
        self.unreadable = 0
        self.lost = False
        self.epoch += 1


def parse_start(text: str) -> int | str:
    """The meaning of "earliest", "latest", "none" or "tail:N" (N records before the end). Raises ConfigurationError."""
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    kind, _, number = text.partition(":")
    if text == "none" or (kind == "tail" and number.isdecimal() and len(number) < LONGEST_OFFSET):
        return text
    raise ConfigurationError(f"{text!r} is not an offset, 'earliest', 'latest' or 'tail:N'")

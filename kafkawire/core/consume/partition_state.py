"""State of one partition of a consumer: its position, whether it is paused, and when it is fetched again after a failure.

The state machine follows the position; a pause and a back-off are independent of it.
"""

from __future__ import annotations

from enum import Enum

from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.states import Transitions, transition
from kafkawire.message import TopicPartition
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["FetchState", "PartitionState"]


class FetchState(Enum):
    """Standing of a partition's position."""

    AWAITING_POSITION = "awaiting position"
    """It has no position: its `start` is being looked up."""
    FETCHING = "fetching"
    """It has a position and is fetched from there."""
    RESETTING = "resetting"
    """The log does not have its position any more: where auto_offset_reset leads is being looked up.

    The topic may be another than metadata says, so metadata is refreshed first.
    """
    POSITION_LOST = "position lost"
    """The log does not have its position any more and auto_offset_reset is "none": fetches fail until the caller seeks."""


TRANSITIONS: Transitions[FetchState] = {
    FetchState.AWAITING_POSITION: {FetchState.AWAITING_POSITION, FetchState.FETCHING},
    FetchState.FETCHING: {
        FetchState.AWAITING_POSITION,
        FetchState.FETCHING,
        FetchState.RESETTING,
        FetchState.POSITION_LOST,
    },
    FetchState.RESETTING: {FetchState.AWAITING_POSITION, FetchState.FETCHING},
    FetchState.POSITION_LOST: {FetchState.AWAITING_POSITION, FetchState.FETCHING, FetchState.POSITION_LOST},
}


class PartitionState:
    """One partition that a consumer reads, or will read once its topic is known.

    Its methods are the only writers of its fields. They run in the flow of the consumer's caller, one at a time, and an
    interrupt leaves each of them done or not begun: the transition is checked first, and then there are stores only.
    """

    __slots__ = (
        "failures",
        "fetch_state",
        "leader_epoch",
        "paused",
        "position",
        "retry_at",
        "revision",
        "start",
        "topic_id",
        "tp",
        "unreadable",
    )

    def __init__(self, tp: TopicPartition, start: int | str) -> None:
        self.tp = tp
        self.fetch_state = FetchState.AWAITING_POSITION
        self.position: int | None = None
        """Offset behind everything that has left the buffer; None in AWAITING_POSITION and RESETTING.

        While the buffer holds something of the partition, the offset of the next record to be handed out is found there.
        """
        self.revision = 0
        """Grows when the position changes otherwise than by handing out: answers to older requests are discarded (trap 100)."""
        self.paused = False
        self.start: int | str = start
        """Start that is looked up while there is no position: EARLIEST, LATEST or "tail:N"; "none" is an error."""
        self.topic_id = ZERO_UUID
        """Topic that the position belongs to; zero while that is not known, and where brokers have no topic ids."""
        self.leader_epoch = -1
        """Leader epoch of the last answer, without topic ids: that of a topic that is created again begins at zero."""
        self.failures = 0
        """Fetches and lookups in a row that have failed."""
        self.retry_at = 0.0
        """Time before which the partition is left alone, after a failure."""
        self.unreadable = 0
        """Answers in a row that could not be read, or refused the whole request."""

    def __repr__(self) -> str:
        return f"{self.tp.topic} partition {self.tp.partition} at {self.position}"

    # ---- queries

    @property
    def lost(self) -> bool:
        """True if the log does not have the last position any more, and no other has been found or sought since."""
        return self.fetch_state in (FetchState.RESETTING, FetchState.POSITION_LOST)

    @property
    def topic_id_known(self) -> bool:
        """True if it is known which topic the position belongs to."""
        return self.topic_id != ZERO_UUID

    def is_of_another_topic(self, topic_id: bytes) -> bool:
        """Tell a topic that was deleted and created again: True if the position belongs to another topic id."""
        return self.topic_id_known and topic_id not in (self.topic_id, ZERO_UUID)

    # ---- the caller's wishes

    def seek(self, position: int | None, start: int | str) -> None:
        """Go on at an offset or, if `position` is None, where `start` leads.

        An offset belongs to the topic that was read so far: the caller cannot know yet that it has been created again. Once
        the position is lost, the caller does.
        """
        following = FetchState.AWAITING_POSITION if position is None else FetchState.FETCHING
        following = transition(TRANSITIONS, self.fetch_state, following, self)
        self._restart(following, position, start, forget_topic=position is None or self.lost)
        self.failures = 0

    def discard_fetched(self, position: int | None) -> None:
        """Have everything from `position` on fetched again: what was fetched or asked for so far is discarded."""
        self.position = position
        self.revision += 1

    def pause(self, position: int | None) -> None:
        """Discard what was fetched from `position` on, and fetch nothing before `resume`."""
        self.discard_fetched(position)
        self.paused = True

    def resume(self) -> None:
        """End a pause."""
        self.paused = False

    # ---- answers

    def found(self, position: int, topic_id: bytes) -> None:
        """Begin at the position that was looked up, in the topic that it belongs to."""
        self.fetch_state = transition(TRANSITIONS, self.fetch_state, FetchState.FETCHING, self)
        self.topic_id = topic_id
        self.position = position

    def lose(self, start: int | str) -> None:
        """Leave a position that the log does not have any more for where `start` leads; "none" leaves that to the caller."""
        if start == "none":
            self.fetch_state = transition(TRANSITIONS, self.fetch_state, FetchState.POSITION_LOST, self)
        else:
            # The failures stay: the leader that names the next position and the one that refuses it may go on to disagree.
            following = transition(TRANSITIONS, self.fetch_state, FetchState.RESETTING, self)
            self._restart(following, None, start, forget_topic=True)

    def adopt_topic(self, topic_id: bytes) -> None:
        """Take the position for one in this topic, where it is not known whose it is."""
        if not self.topic_id_known:
            self.topic_id = topic_id

    def answered(self) -> None:
        """Count an answer that could be read, even if it is an error."""
        self.unreadable = 0

    def fetched(self, leader_epoch: int) -> None:
        """Take note of records, or of none yet, at the position; `leader_epoch` is the one to compare with later answers."""
        self.fetch_state = transition(TRANSITIONS, self.fetch_state, FetchState.FETCHING, self)
        self.leader_epoch = leader_epoch
        self.failures = 0

    def back_off(self, now: float, backoff: Backoff) -> None:
        """Leave the partition alone for a while after a failure, longer after every failure in a row."""
        delay = backoff.delay(self.failures + 1)
        self.failures += 1
        self.retry_at = now + delay

    def could_not_be_read(self) -> None:
        """Count an answer that could not be read."""
        self.unreadable += 1

    # ---- handing out

    def advance(self, position: int) -> None:
        """Move the position behind what is about to leave the buffer: not seen by anyone before it has left."""
        self.position = position

    def _restart(self, following: FetchState, position: int | None, start: int | str, *, forget_topic: bool) -> None:
        """Store a new position, in one piece. No call may come in here, nor before a store that follows this."""
        if forget_topic:
            self.topic_id = ZERO_UUID
            self.leader_epoch = -1
        self.fetch_state = following
        self.position = position
        self.start = start
        self.retry_at = 0.0
        self.unreadable = 0
        self.revision += 1

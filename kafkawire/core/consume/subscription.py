"""Partitions that a consumer reads: which they are, where they start, and what becomes of a position that is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST
from kafkawire.core.cluster.metadata import Snapshot, Topic, check_partitions
from kafkawire.core.consume.collector import FetchCollector
from kafkawire.core.consume.fetch_request import FetchTarget
from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.core.consume.reports import Reports
from kafkawire.errors import ConfigurationError, ErrorCode, OffsetOutOfRangeError
from kafkawire.events import PositionReset, TopicRecreated
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER

__all__ = ["Subscription", "parse_start"]

LONGEST_OFFSET = 20
"""Digits that no offset has."""


class Subscription:
    """Assignment of a consumer, and what it follows: topics, all partitions of which it reads, or partitions one by one.

    Its methods and those of the partitions' states are the only ones that write here. They run in the flow of the consumer's
    caller only. An assignment is replaced by one store, so that an interrupt leaves the one before or the one after.
    """

    def __init__(
        self, topics: Sequence[str], reset: str, collector: FetchCollector, reports: Reports, retry_backoff: Backoff
    ) -> None:
        self._topics = list(topics)
        """Topics whose partitions are all read; empty where partitions were assigned."""
        self._assigned: dict[TopicPartition, PartitionState] = {}
        self._unassigned: dict[TopicPartition, PartitionState] = {}
        """Partitions that were sought or paused before it was known which partitions their topics have."""
        self._metadata: Snapshot | None = None
        """Metadata that the assignment was last compared with; None before its topics are known."""
        self._reset = reset
        """Value of auto_offset_reset."""
        self._first_start = parse_start(reset)
        """Start of the partitions that the topics are found to have."""
        self._recreated: dict[str, bytes] = {}
        """Ids of topics that were reported as created again."""
        self._collector = collector
        self._reports = reports
        self._retry_backoff = retry_backoff

    # ---- queries

    def assignment(self) -> set[TopicPartition]:
        """Partitions that are read."""
        return set(self._assigned)

    def states(self) -> Iterable[PartitionState]:
        """States of the partitions that are read."""
        return self._assigned.values()

    def get(self, tp: TopicPartition) -> PartitionState | None:
        """State of a partition that is read; None if it is not."""
        return self._assigned.get(tp)

    def paused(self) -> set[TopicPartition]:
        """Partitions that are paused."""
        return {tp for tp, state in [*self._assigned.items(), *self._unassigned.items()] if state.paused}

    def topic_names(self) -> set[str]:
        """Topics that have to be known before anything is read."""
        return set(self._topics) or {tp.topic for tp in self._assigned}

    @property
    def topics_known(self) -> bool:
        """True once the assignment has been compared with metadata."""
        return self._metadata is not None

    def is_empty(self) -> bool:
        """True if there is neither a topic nor a partition to read."""
        return not self._topics and not self._assigned

    def fetch_targets(self, snapshot: Snapshot, now: float) -> Iterator[FetchTarget]:
        """Partitions to fetch now, and from where on."""
        for state, offset in self._fetchable(now):
            topic = snapshot.topics.get(state.tp.topic)
            if topic is None or not state.is_of_another_topic(topic.topic_id):
                partition = None if topic is None else topic.partitions.get(state.tp.partition)
                leader, epoch = (None, -1) if partition is None else (partition.leader, partition.leader_epoch)
                yield FetchTarget(state, state.revision, offset, leader, epoch, alone=state.unreadable > 0)

    def retry_at(self, now: float) -> float:
        """Time at which the next partition that is backing off is tried again."""
        return min((state.retry_at for state in self._assigned.values() if state.retry_at > now), default=NEVER)

    def _fetchable(self, now: float) -> Iterator[tuple[PartitionState, int]]:
        """Partitions that have a position and neither pause nor back off, with the offset of their next fetch."""
        for state in self._assigned.values():
            offset = self._collector.fetch_offset(state)
            if not state.paused and offset is not None and state.retry_at <= now:
                yield state, offset

    # ---- the caller's wishes

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others; those that were read before keep their position."""
        self._replace(partitions, parse_start(self._reset))
        self._topics = []
        self._metadata = None
        self._unassigned = {}

    def ensure_state(self, tp: TopicPartition) -> PartitionState:
        """State of a partition to seek, pause or resume. Raises ConfigurationError if it is not assigned.

        A partition of the topics gets one if it is named before it is known which partitions they have.
        """
        state = self._assigned.get(tp) or self._unassigned.get(tp)
        if state is None and self._metadata is None and tp.topic in self._topics:
            state = self._unassigned[tp] = PartitionState(tp, self._first_start)
        if state is None:
            raise ConfigurationError(
                f"{tp.topic} partition {tp.partition} is not assigned: assigned are {sorted(self.assignment())}"
            )
        return state

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        state = self.ensure_state(tp)
        self._collector.settle()
        state.seek(offset, offset)

    def seek_each(self, partitions: Iterable[TopicPartition], start: int | str) -> None:
        """Go on where `start` leads in each of the partitions, or in none if one is not assigned."""
        states = [self.ensure_state(tp) for tp in partitions]
        self._collector.settle()
        for state in states:
            state.seek(None, start)

    def seek_all(self, start: int | str) -> None:
        """Go on where `start` leads in all partitions, also in those that the topics turn out to have."""
        self._first_start = start
        self.seek_each([*self._assigned, *self._unassigned], start)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of the partitions until `resume`; what was fetched of them is fetched again then."""
        states = [self.ensure_state(tp) for tp in partitions]
        self._collector.settle()
        for state in states:
            if not state.paused:
                state.pause(self._collector.position(state))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with the partitions where they were paused."""
        for state in [self.ensure_state(tp) for tp in partitions]:
            state.resume()

    # ---- following metadata

    def follow(self, snapshot: Snapshot) -> bool:
        """Assign all partitions of the topics, those too that they got since; False if some topic is not known yet.

        Raises UnknownTopicError if a partition that was sought or paused before is none of its topic.
        """
        if snapshot is self._metadata:
            return True
        if any(name not in snapshot.topics for name in self.topic_names()):
            return False
        partitions = [TopicPartition(topic.name, index) for topic in self._chosen(snapshot) for index in topic.partitions]
        if partitions:
            # A partition that a topic gets while it is read has nothing from before: it is read from its beginning.
            self._replace(partitions, EARLIEST if self.topics_known else self._first_start)
        self._metadata = snapshot
        unassigned, self._unassigned = self._unassigned, {}
        for topic in snapshot.topics.values():
            check_partitions(unassigned, topic)
        return True

    def _chosen(self, snapshot: Snapshot) -> Iterable[Topic]:
        """Topics whose partitions are all read. A pattern of names would choose among those of the snapshot here."""
        return [snapshot.topics[name] for name in self._topics]

    def _replace(self, partitions: Iterable[TopicPartition], start: int | str) -> None:
        """Assign these partitions and no others. New ones begin where `start` leads."""
        states = {**self._unassigned, **self._assigned}
        wanted = dict.fromkeys(partitions)
        self._collector.settle()
        for tp, state in states.items():
            if tp not in wanted:
                state.discard_fetched(self._collector.position(state))
        self._assigned = {tp: states.get(tp) or PartitionState(tp, start) for tp in wanted}

    # ---- positions that are lost

    def match_topics(self, snapshot: Snapshot, now: float) -> None:
        """Lose the positions in topics that were deleted and created again, once what was fetched of them is handed out."""
        for state, offset in self._fetchable(now):
            topic = snapshot.topics.get(state.tp.topic)
            if topic is None:
                continue
            if not state.is_of_another_topic(topic.topic_id):
                state.adopt_topic(topic.topic_id)
            elif not self._collector.holds(state):
                self._report_recreated(topic)
                self.lose_position(state, offset, "its topic was deleted and created again", now)

    def lose_position(self, state: PartitionState, offset: int, reason: str, now: float) -> None:
        """Go where auto_offset_reset leads; "none" leaves that to the caller, who is told until there is a seek."""
        if self._reset == "none":
            text = f"{reason}, and auto_offset_reset is 'none': seek to an offset that exists"
            error = f"{state.tp.topic} partition {state.tp.partition} at offset {offset}: {text}"
            self._reports.add_error(state, OffsetOutOfRangeError(ErrorCode.OFFSET_OUT_OF_RANGE, error), now)
        else:
            self._reports.add_event(PositionReset(state.tp.topic, state.tp.partition, offset, self._reset, reason))
        state.lose(parse_start(self._reset))
        state.back_off(now, self._retry_backoff)

    def _report_recreated(self, topic: Topic) -> None:
        """Report a topic that was created again, once."""
        if self._recreated.get(topic.name) != topic.topic_id:
            self._recreated[topic.name] = topic.topic_id
            self._reports.add_event(TopicRecreated(topic.name))


def parse_start(text: str) -> int | str:
    """Parse "earliest", "latest", "none" or "tail:N" (N records before the end). Raises ConfigurationError."""
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    kind, _, number = text.partition(":")
    if text == "none" or (kind == "tail" and number.isdecimal() and len(number) < LONGEST_OFFSET):
        return text
    raise ConfigurationError(f"{text!r} is not an offset, 'earliest', 'latest' or 'tail:N'")

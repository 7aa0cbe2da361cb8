"""Looking up where partitions begin that have no position: their first offset, their end, or some records before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST, Found, list_offsets
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.errors import ErrorCode, KafkaError, OffsetOutOfRangeError, TimedOut
from kafkawire.message import TopicPartition
from kafkawire.net.base import Signal
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["FoundPosition", "PositionLookup"]


class WantedPosition(NamedTuple):
    """A partition without a position, as its state was when the lookup began."""

    state: PartitionState
    revision: int
    start: int | str
    lost: bool


class FoundPosition(NamedTuple):
    """Position of a partition: an offset in the topic with that id, or why there is none."""

    state: PartitionState
    revision: int
    """Revision of the state for which the position was looked up."""
    offset: int | KafkaError
    topic_id: bytes

    @property
    def stale(self) -> bool:
        """True if the partition was sought, paused or taken away, or got its position by an earlier lookup."""
        return self.state.revision != self.revision or self.state.position is not None


class PositionLookup:
    """Finds positions in a flow of its own, beside the fetches.

    It reads the states of partitions when a lookup begins and never writes them: that is for the flow of the consumer's caller,
    which takes the positions that were found.
    """

    def __init__(self, client: ClusterClient, options: ConsumerOptions) -> None:
        self._client = client
        self._net = client.net
        self._timeout = options["default_api_timeout_ms"] / 1000
        self._wanted: list[WantedPosition] = []
        """Written by `start`, in the flow of the consumer's caller."""
        self._found: deque[FoundPosition] = deque()
        """Filled by the lookup, emptied by `found`."""
        self._flight = SingleFlight(client.net, self._look_up, "kafkawire-offsets")

    def start(self, states: Iterable[PartitionState], signal: Signal) -> None:
        """Look for the positions that are missing, unless that is under way; `signal` is set when it has ended."""
        missing = [state for state in states if state.position is None]
        self._wanted = [WantedPosition(state, state.revision, state.start, state.lost) for state in missing]
        self._flight.start(signal)

    def found(self) -> Iterator[FoundPosition]:
        """Take the positions that were found since and still hold."""
        while self._found:
            found = self._found.popleft()
            if not found.stale:
                yield found

    async def _look_up(self) -> None:
        """Look up the positions that are wanted at the moment."""
        wanted = self._wanted
        for each in wanted:
            if each.start == "none":
                where = f"{each.state.tp.topic} partition {each.state.tp.partition}"
                text = f"{where} has no position, auto_offset_reset is 'none': seek first"
                self._put(each, OffsetOutOfRangeError(ErrorCode.OFFSET_OUT_OF_RANGE, text))
        wanted = [each for each in wanted if each.start != "none"]
        try:
            await self._ask(wanted)
        except KafkaError as error:
            for each in wanted:
                self._put(each, error)

    async def _ask(self, wanted: list[WantedPosition]) -> None:
        """Ask leaders for the offsets that the positions are made of."""
        deadline = self._net.now() + self._timeout
        times = {each.state.tp: each.start if isinstance(each.start, int) else LATEST for each in wanted}
        tails = [each.state.tp for each in wanted if isinstance(each.start, str)]
        if any(each.lost for each in wanted):
            await self._client.updater.refresh(deadline)
        topic_ids = {tp: (await self._client.router.topic(tp.topic, deadline)).topic_id for tp in times}
        ends = await list_offsets(self._client, times, deadline)
        beginnings = await list_offsets(self._client, dict.fromkeys(tails, EARLIEST), deadline)
        for each in wanted:
            tp = each.state.tp
            self._put(each, _position(tp, each.start, ends[tp], beginnings.get(tp)), topic_ids[tp])

    def _put(self, wanted: WantedPosition, offset: int | KafkaError, topic_id: bytes = ZERO_UUID) -> None:
        self._found.append(FoundPosition(wanted.state, wanted.revision, offset, topic_id))


def _position(tp: TopicPartition, start: int | str, answer: Found | None, beginning: Found | None) -> int | KafkaError:
    """Make a position of the answer for its start, and of the partition's beginning where that is "tail:N"."""
    if answer is None:
        return TimedOut(f"{tp.topic} partition {tp.partition} has no end yet")
    if isinstance(start, int):
        return answer.offset
    return max(0 if beginning is None else beginning.offset, answer.offset - int(start.partition(":")[2]))

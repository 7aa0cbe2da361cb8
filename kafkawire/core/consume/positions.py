"""Where partitions begin that have no position yet: at their first offset, at their end, or some records before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST, list_offsets
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.core.consume.subscription import PartitionState
from kafkawire.errors import ErrorCode, KafkaError, OffsetOutOfRangeError, TimedOut
from kafkawire.net.base import Signal
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["Positions"]


class Wanted(NamedTuple):
    """A partition whose position is looked for, and its state when that began."""

    state: PartitionState
    epoch: int
    start: int | str
    lost: bool


class Position(NamedTuple):
    """The position found for a partition: an offset in the topic with that id, or why there is none."""

    state: PartitionState
    epoch: int
    offset: int | KafkaError
    topic_id: bytes


class Positions:
    """Finds positions beside the fetches, and puts them into `found`.

    The states of partitions are not touched here: they change on the thread of the consumer's caller only.
    """

    def __init__(self, client: ClusterClient, options: ConsumerOptions) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self._wanted: list[Wanted] = []
        self._flight = SingleFlight(client.net, self._find, "kafkawire-offsets")
        self.found: deque[Position] = deque()

    def find(self, states: Iterable[PartitionState], signal: Signal) -> None:
        """Look for the positions that are missing, unless that is under way; `signal` is set when it has ended."""
        self._wanted = [Wanted(each, each.epoch, each.start, each.lost) for each in states if each.position is None]
        self._flight.start(signal)

    async def _find(self) -> None:
        for each in (wanted := self._wanted):
            if each.start == "none":
                where = f"{each.state.tp.topic} partition {each.state.tp.partition}"
                text = f"{where} has no position, auto_offset_reset is 'none': seek first"
                self._put(each, OffsetOutOfRangeError(ErrorCode.OFFSET_OUT_OF_RANGE, text), ZERO_UUID)
        wanted = [each for each in wanted if each.start != "none"]
        deadline = self._net.now() + self._options["default_api_timeout_ms"] / 1000
        times = {each.state.tp: each.start if isinstance(each.start, int) else LATEST for each in wanted}
        try:
            if any(each.lost for each in wanted):
                await self._client.updater.refresh(deadline)
            ids = {tp: (await self._client.router.topic(tp.topic, deadline)).topic_id for tp in times}
            found = await list_offsets(self._client, times, deadline)
            tails = [each.state.tp for each in wanted if isinstance(each.start, str)]
            first = await list_offsets(self._client, dict.fromkeys(tails, EARLIEST), deadline)
        except KafkaError as error:
            for each in wanted:
                self._put(each, error, ZERO_UUID)
            return
        for each in wanted:
            tp, answer = each.state.tp, found[each.state.tp]
            offset: int | KafkaError
            if answer is None:
                offset = TimedOut(f"{tp.topic} partition {tp.partition} has no end yet")
            elif isinstance(each.start, str):
                beginning = known.offset if (known := first[tp]) is not None else 0
                offset = max(beginning, answer.offset - int(each.start.partition(":")[2]))
            else:
                offset = answer.offset
            self._put(each, offset, ids[tp])

    def _put(self, wanted: Wanted, offset: int | KafkaError, topic_id: bytes) -> None:
        self.found.append(Position(wanted.state, wanted.epoch, offset, topic_id))

"""Where partitions begin that have no position yet: at their first offset, at their end, or some records before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from kafkawire.config import ConsumerOptions
from kafkawire.core.client import Client
from kafkawire.core.flight import Flight
from kafkawire.core.offsets import EARLIEST, LATEST, list_offsets
from kafkawire.core.partition import PartitionState
from kafkawire.errors import ErrorCode, KafkaError, OffsetOutOfRangeError, TimedOut
from kafkawire.net.base import Signal

__all__ = ["Positions"]


class Positions:
    """Finds positions beside the fetches; `found` has them as (partition, its epoch then, position or error).

    The states of partitions are not touched here: they change on the thread of the consumer's caller only.
    """

    def __init__(self, client: Client, options: ConsumerOptions) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self._wanted: list[tuple[PartitionState, int, int | str]] = []
        self._flight = Flight(client.net, self._find, "kafkawire-offsets")
        self.found: deque[tuple[PartitionState, int, int | KafkaError]] = deque()

    def find(self, states: Iterable[PartitionState], signal: Signal) -> None:
        """Look for the positions that are missing, unless that is under way; `signal` is set when it has ended."""
        self._wanted = [(state, state.epoch, state.start) for state in states if state.position is None]
        self._flight.start(signal)

    async def _find(self) -> None:
        wanted = self._wanted
        for state, epoch, start in wanted:
            if start == "none":
                where = f"{state.tp.topic} partition {state.tp.partition}"
                text = f"{where} has no position, auto_offset_reset is 'none': seek first"
                self.found.append((state, epoch, OffsetOutOfRangeError(ErrorCode.OFFSET_OUT_OF_RANGE, text)))
        wanted = [(state, epoch, start) for state, epoch, start in wanted if start != "none"]
        deadline = self._net.now() + self._options["default_api_timeout_ms"] / 1000
        times = {state.tp: start if isinstance(start, int) else LATEST for state, _, start in wanted}
        try:
            found = await list_offsets(self._client, times, deadline)
            tails = [state.tp for state, _, start in wanted if isinstance(start, str)]
            first = await list_offsets(self._client, dict.fromkeys(tails, EARLIEST), deadline)
        except KafkaError as error:
            self.found.extend((state, epoch, error) for state, epoch, _ in wanted)
            return
        for state, epoch, start in wanted:
            answer = found[state.tp]
            if answer is None:
                self.found.append((state, epoch, TimedOut(f"{state.tp.topic} partition {state.tp.partition} has no end yet")))
            elif isinstance(start, str):
                beginning = known.offset if (known := first[state.tp]) is not None else 0
                self.found.append((state, epoch, max(beginning, answer.offset - int(start.partition(":")[2]))))
            else:
                self.found.append((state, epoch, answer.offset))

"""Fetch requests in flight: one to each leader, the next on its way while records of the last are decoded and handed out."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.link_slots import LinkRole
from kafkawire.core.cluster.metadata import Address, Snapshot
from kafkawire.core.consume.fetch_request import FetchSettings, FetchTarget, build_request, partition_answers
from kafkawire.errors import DecodeError, KafkaError, NetworkError, RequestTimedOut, broker_error
from kafkawire.message import TopicPartition
from kafkawire.net.base import NEVER, Pending, Signal
from kafkawire.protocol.frames import decode_response
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse

__all__ = ["CompletedFetch", "Fetcher"]

log = logging.getLogger("kafkawire.consumer")


@dataclass(eq=False, slots=True)
class FetchInFlight:
    """One Fetch that is not answered yet."""

    pending: Pending
    link: BrokerLink
    version: int
    sent_at: float
    targets: dict[TopicPartition, FetchTarget]
    names: dict[bytes, str]
    """Names of topics by id, in a version that carries ids."""


@dataclass(frozen=True, slots=True)
class CompletedFetch:
    """Outcome of one Fetch: answers for some partitions, and an error for the others."""

    address: Address
    """Broker that was asked."""
    version: int
    answers: list[tuple[FetchTarget, Any]] = field(default_factory=list)
    """Partitions with their parts of the response."""
    failed: list[FetchTarget] = field(default_factory=list)
    """Partitions without an answer."""
    error: KafkaError | None = None
    """Why there are partitions without an answer."""


class Fetcher:
    """Sends the fetches it is told to send and hands back what they have brought.

    It owns the requests in flight and nothing else of the consumer. Used in the flow of the consumer's caller only; no method
    waits.
    """

    def __init__(self, client: ClusterClient, options: ConsumerOptions, signal: Signal) -> None:
        self._client = client
        self._settings = FetchSettings.of(options)
        self._signal = signal
        """Set when an answer has come."""
        self._timeout = (options["request_timeout_ms"] + options["fetch_max_wait_ms"]) / 1000
        self._in_flight: dict[int, FetchInFlight] = {}
        """By node id of the leader."""
        self._role = LinkRole("fetch")
        self._turns: dict[int, int] = {}
        """By node id, how many fetches were sent before the last one."""

    def close(self) -> None:
        """Close the links and forget what is in flight."""
        self._in_flight.clear()
        self._client.links.release(self._role)

    # ---- sending

    def send(self, snapshot: Snapshot, targets: Iterable[FetchTarget], now: float) -> float:
        """Send the fetches that can be sent; returns when the others may be."""
        due = NEVER
        for node, chosen in self._by_leader(targets).items():
            try:
                link = self._client.links.link_or_connect(node, self._role, self._signal)
            except NetworkError:
                self._client.metadata.suspect()
                continue
            if not isinstance(link, BrokerLink):
                due = min(due, link)
            elif link.muted_until > now:
                due = min(due, link.muted_until)
            else:
                self._send(snapshot, node, link, chosen, now)
        return due

    def _by_leader(self, targets: Iterable[FetchTarget]) -> dict[int, list[FetchTarget]]:
        """Targets by leader, without the leaders that have a fetch in flight. A leader that is not known is asked for."""
        groups: dict[int, list[FetchTarget]] = defaultdict(list)
        for target in targets:
            if target.leader is None:
                self._client.metadata.suspect()
            elif target.leader not in self._in_flight:
                groups[target.leader].append(target)
        return groups

    def _send(self, snapshot: Snapshot, node: int, link: BrokerLink, targets: list[FetchTarget], now: float) -> None:
        turn = self._turns[node] = self._turns.get(node, -1) + 1
        chosen, settings = self._choose(targets, turn)
        by_partition = {target.state.tp: target for target in chosen}
        offsets = [(tp, target.offset) for tp, target in by_partition.items()]
        request, version, names = build_request(snapshot, link, offsets, settings)
        pending = link.send(request, version, self._signal)
        self._in_flight[node] = FetchInFlight(pending, link, version, now, by_partition, names)

    def _choose(self, targets: list[FetchTarget], turn: int) -> tuple[list[FetchTarget], FetchSettings]:
        """Choose what goes into the next fetch of a leader."""
        suspects = [target for target in targets if target.alone]
        healthy = [target for target in targets if not target.alone]
        if suspects and (not healthy or turn % 2):
            # Each by itself, so that it shows which of them makes the answers unreadable, and at once.
            return [suspects[turn // 2 % len(suspects)]], replace(self._settings, max_wait_ms=0)
        # Another partition comes first every time, so that none starves the others (trap 99).
        first = (turn // 2 if suspects else turn) % len(healthy)
        return healthy[first:] + healthy[:first], self._settings

    # ---- answers

    def times_out_at(self) -> float:
        """Time at which the oldest fetch in flight is given up."""
        return min((request.sent_at for request in self._in_flight.values()), default=NEVER) + self._timeout

    def completed(self, now: float) -> Iterator[CompletedFetch]:
        """Yield the fetches that were answered or have timed out.

        Each is forgotten once the caller asks for the next: one whose use an interrupt cuts off comes again.
        """
        for node, request in list(self._in_flight.items()):
            if not request.pending.done:
                if request.sent_at + self._timeout > now:
                    continue
                request.link.link.fail(RequestTimedOut(f"{request.link.address} did not answer Fetch in {self._timeout:g} s"))
            yield self._complete(request, now)
            del self._in_flight[node]

    def _complete(self, request: FetchInFlight, now: float) -> CompletedFetch:
        """Read an answer, and tell apart what it answers."""
        link, targets = request.link, request.targets
        try:
            response: FetchResponse = decode_response(FetchResponse, request.version, request.pending.result())
            if response.error_code:
                raise broker_error(response.error_code, f"Fetch from {link.address}")
        except KafkaError as error:
            self._failed(link, error)
            return CompletedFetch(link.address, request.version, failed=list(targets.values()), error=error)
        link.note_throttle(response, FetchRequest, request.version, now)
        by_partition = dict(partition_answers(response, request.names))
        answers = [(target, by_partition[tp]) for tp, target in targets.items() if tp in by_partition]
        missing = [target for tp, target in targets.items() if tp not in by_partition]
        if not missing:
            return CompletedFetch(link.address, request.version, answers)
        silent = DecodeError("the answer is silent on a partition that was asked for", api="Fetch", version=request.version)
        self._failed(link, silent)
        return CompletedFetch(link.address, request.version, answers, missing, silent)

    def _failed(self, link: BrokerLink, error: KafkaError) -> None:
        """Give up a link whose answers cannot be understood, and have newer metadata asked for."""
        if isinstance(error, DecodeError):
            link.link.fail(error)
        log.warning("fetch from %s: %s", link.address, error)
        self._client.metadata.suspect()

"""Keeping metadata up to date: when it is asked for, and of which broker."""

from __future__ import annotations

import random
from collections.abc import Mapping

from kafkawire.config import ConnectionOptions
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.link_slots import CONTROL, LinkSlots
from kafkawire.core.cluster.metadata import Address, Metadata, Snapshot
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.errors import BootstrapError, ConnectError, KafkaError, NotKafkaError, TimedOut, TlsError, broker_error
from kafkawire.net.base import NEVER, Net, Signal
from kafkawire.protocol.messages.metadata import MetadataRequest, MetadataResponse

__all__ = ["MetadataUpdater"]

IN_A_ROW = 2.0
"""Seconds between two rounds of requests within which the second counts as a retry of the first."""


class MetadataUpdater:
    """Asks for metadata in rounds: a round asks brokers in turn until one has answered.

    Rounds run one at a time, in a flow of their own that writes the outcome; only `_want_all` is written by callers too.
    Thread-safe.
    """

    def __init__(self, net: Net, options: ConnectionOptions, metadata: Metadata, links: LinkSlots, backoff: Backoff) -> None:
        self._net = net
        self._metadata = metadata
        self._links = links
        self._backoff = backoff
        self._max_age = options["metadata_max_age_ms"] / 1000
        self._round = SingleFlight(net, self._run_round, "kafkawire-metadata")
        self._rounds_answered = 0
        self._error: KafkaError | None = None
        """Why the last round brought no answer; None if it did."""
        self._asking: tuple[int, Address] | None = None
        """The broker that the present round asks."""
        self._reasons: dict[Address, KafkaError] = {}
        """Why the brokers that the present round asked before did not answer."""
        self._rounds_in_a_row = 0
        self._round_ended_at = float("-inf")
        self._next_round_at = float("-inf")
        """Time before which no round begins by itself."""
        self._want_all = False

    def keep_fresh(self, signal: Signal) -> float:
        """Start a round if metadata is suspected to be out of date, or is old; returns when to call again.

        `signal` is set at the end of the round. While suspicions recur, rounds are separated by growing pauses.
        """
        now = self._net.now()
        aged = self._metadata.snapshot.updated_at + self._max_age
        due = max(self._next_round_at, now if self._metadata.suspected else aged)
        if due > now:
            return due
        self._round.start(signal)
        return NEVER

    async def refresh(self, deadline: float, *, all_topics: bool = False) -> None:
        """Ask for metadata and wait for the answer.

        Raises BootstrapError at the deadline if no broker has answered, TimedOut if there was no time to ask all of them; at
        once NotKafkaError or TlsError where a retry cannot help: no server has ever answered, and none can be connected to
        with the present configuration.
        """
        self._want_all = self._want_all or all_topics
        answered = self._rounds_answered
        while self._rounds_answered == answered or (all_topics and self._want_all):
            self._links.check_open()
            if not await self._round.join(deadline) or self._is_hopeless():
                raise self.no_answer()
            if self._error is not None:
                await self._net.wait(self._net.signal(), min(deadline, self._next_round_at))
                if self._net.now() >= deadline:
                    raise self.no_answer()

    async def snapshot(self, deadline: float) -> Snapshot:
        """Returns the present metadata, asking for it if no broker is known yet. Raises as `refresh`."""
        if not self._metadata.snapshot.brokers:
            await self.refresh(deadline)
        return self._metadata.snapshot

    def no_answer(self) -> KafkaError:
        """The error for a caller that got no metadata: that of the last round, or how far the first one is."""
        if self._error is not None:
            return self._error
        reasons: dict[Address, object] = dict(self._reasons)
        if self._asking is not None:
            node_id, address = self._asking
            reasons[address] = self._links.progress(node_id, CONTROL) or "no answer to Metadata yet"
        return TimedOut(f"no metadata from the cluster in the time given. {_listed(reasons)}".strip())

    def check_reachable(self) -> None:
        """Raise the error of the last round if no broker has ever answered."""
        if self._error is not None and not self._metadata.snapshot.brokers:
            raise self._error

    def _is_hopeless(self) -> bool:
        """True if a retry cannot help. A cluster that has answered once may do so again: certificates are replaced."""
        return self._error is not None and not self._error.retriable and not self._metadata.snapshot.brokers

    async def _run_round(self) -> None:
        self._metadata.trust()
        in_a_row = self._net.now() - self._round_ended_at < IN_A_ROW
        self._rounds_in_a_row = self._rounds_in_a_row + 1 if in_a_row else 0
        self._error = await self._ask_in_turn()
        if self._error is None:
            self._rounds_answered += 1
        else:
            self._metadata.suspect()
        self._round_ended_at = self._net.now()
        pause = self._backoff.delay(self._rounds_in_a_row) if self._rounds_in_a_row else 0.0
        self._next_round_at = self._round_ended_at + pause

    async def _ask_in_turn(self) -> KafkaError | None:
        """Ask brokers until one answers; returns why none did."""
        self._reasons = {}
        for node_id, address in [(node_id, self._metadata.address(node_id)) for node_id in self._sources()]:
            self._asking = node_id, address
            try:
                await self._ask(node_id)
            except KafkaError as error:
                self._reasons[address] = error
            else:
                return None
        return _unreachable(self._reasons)

    def _sources(self) -> list[int]:
        """Brokers to ask: connected ones first, then known ones, then the bootstrap servers; each group in random order."""
        connected: list[int] = []
        known: list[int] = []
        for node in self._metadata.snapshot.brokers:
            (connected if self._links.is_ready(node) else known).append(node)
        bootstrap = list(self._metadata.bootstrap)
        for group in (connected, known, bootstrap):
            random.shuffle(group)
        return connected + known + bootstrap

    async def _ask(self, node_id: int) -> None:
        if self._want_all:
            await self._ask_for(node_id, None, create=False)
            self._want_all = False
        else:
            await self._ask_for(node_id, self._metadata.wanted(), create=False)
        to_create = self._metadata.to_create()
        if to_create:
            await self._ask_for(node_id, to_create, create=True)

    async def _ask_for(self, node_id: int, names: list[str] | None, *, create: bool) -> None:
        # Connecting and every request have deadlines of their own: a silent broker must not use up the time of the others.
        link = await self._links.link(node_id, CONTROL, NEVER)
        version = link.version(MetadataRequest)
        topics = None if names is None else [MetadataRequest.Topic(name=name) for name in names]
        if version == 0 and topics is None:
            topics = []  # v0 has no null: there an empty list asks for all topics (trap 19)
        message = MetadataRequest(topics=topics)
        if version >= 4:
            message.allow_auto_topic_creation = create
        response: MetadataResponse = await link.call(message, NEVER)
        if response.error_code:
            # REBOOTSTRAP_REQUIRED (KIP-1102): the next sources are asked, at last the bootstrap servers.
            raise broker_error(response.error_code, f"metadata from {link.address}")
        asked = None if names is None or (version == 0 and not names) else frozenset(names)
        self._metadata.apply(response, version, asked, self._net.now())


def _unreachable(reasons: Mapping[Address, KafkaError]) -> KafkaError:
    """Sums up the errors of a round; not retriable only if no server can be connected to with the present configuration."""
    text = _listed(reasons)
    errors = reasons.values()
    if not errors or any(error.retriable or not isinstance(error, ConnectError) for error in errors):
        advice = "Check bootstrap_servers, that the brokers run, and security_protocol"
        return BootstrapError(f"no broker answered. {text}. {advice}")
    if all(isinstance(error, NotKafkaError) for error in errors):
        return NotKafkaError(f"no server answers as a Kafka broker. {text}")
    return TlsError(f"no server can be connected to. {text}")


def _listed(reasons: Mapping[Address, object]) -> str:
    return "; ".join(str(reason) if str(at) in str(reason) else f"{at}: {reason}" for at, reason in reasons.items())

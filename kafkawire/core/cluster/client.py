"""One cluster as a client sees it: its metadata, a link for each (broker, role), and requests that find their broker."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import Any

from kafkawire.config import ConnectionOptions, parse_servers
from kafkawire.core.arguments import check_node, check_topic
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.handshake import Address, BrokerLink, Connector
from kafkawire.core.cluster.link_slots import CONTROL, LinkRole, LinkSlot
from kafkawire.core.cluster.metadata import Snapshot, Topic, merge
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.errors import (
    BootstrapError,
    ClosedError,
    ConnectError,
    ErrorCode,
    KafkaError,
    NetworkError,
    NotKafkaError,
    TimedOut,
    TlsError,
    UnknownTopicError,
    broker_error,
)
from kafkawire.net.base import NEVER, Net, Signal
from kafkawire.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkawire.protocol.schema import Request

__all__ = ["ClusterClient"]

log = logging.getLogger("kafkawire.connection")


IN_A_ROW = 2.0
"""Seconds between two rounds of asking for metadata within which the second counts as another try of the first."""

UNKNOWN_FOR_GOOD = 4
"""Attempts, over about a second and a half, after which a topic is taken not to exist: creation is asynchronous (trap 131)."""


class ClusterClient:
    """What a Connection, a Producer and a Consumer share. Any thread may call it."""

    def __init__(self, net: Net, options: ConnectionOptions) -> None:
        self.net = net
        self.options = options
        self.closed = False
        self.snapshot = Snapshot()
        self.connector = Connector(net, options)
        self.max_idle = options["connections_max_idle_ms"] / 1000
        self.reconnect_backoff = Backoff(options["reconnect_backoff_ms"], options["reconnect_backoff_max_ms"])
        self.retry_backoff = Backoff(options["retry_backoff_ms"], options["retry_backoff_max_ms"])
        servers = parse_servers(options["bootstrap_servers"])
        # Bootstrap servers have no node id yet: negative ones, so that both kinds share one table (trap 110).
        self._bootstrap = {-1 - i: Address(host, port) for i, (host, port) in enumerate(servers)}
        self._slots: dict[tuple[int, LinkRole], LinkSlot] = {}
        self._lock = net.lock()
        self._wanted: dict[str, bool] = {}
        self._want_all = False
        self._topic_errors: dict[str, ErrorCode | None] = {}
        self._refresh_error: KafkaError | None = None
        self._refreshed = 0
        self._asking: int | None = None
        self._reasons: dict[Address, KafkaError] = {}
        """Which broker the present round asks, and why those before it did not answer; its flight's."""
        self._refresh = SingleFlight(net, self._refresh_metadata, "kafkawire-metadata")
        self._outdated = False
        """Whether metadata may be wrong; raised by anyone, lowered where asking begins."""
        self._rounds_in_a_row = 0
        self._asked_at = float("-inf")
        self._ask_again_at = float("-inf")
        """When the last round of asking ended, and before when the next one does not begin by itself; its flight's."""

    # ---- links

    def address(self, node_id: int) -> Address:
        """Where a broker is; bootstrap servers have negative ids. Raises NetworkError if the cluster no longer lists it."""
        if node_id < 0:
            return self._bootstrap[node_id]
        broker = self.snapshot.brokers.get(node_id)
        if broker is None:
            raise NetworkError(f"broker {node_id} is not in the cluster: known are {sorted(self.snapshot.brokers)}")
        return Address(broker.host, broker.port)

    def slot(self, node_id: int, role: LinkRole) -> LinkSlot:
        """The place of the link to a broker for a role."""
        key = (node_id, role)
        slot = self._slots.get(key)
        if slot is None:
            with self._lock:
                slot = self._slots.setdefault(key, LinkSlot(self, node_id, role))
        return slot

    def link_or_connect(self, node_id: int, role: LinkRole, signal: Signal) -> BrokerLink | float:
        """The link if it is up; otherwise when to look again.

        Connecting starts, unless it is too early to try again; `signal` is set when it has ended. Raises NetworkError if the
        cluster no longer lists the broker.
        """
        self.check_open()
        slot = self.slot(node_id, role)
        link = slot.usable(self.address(node_id))
        if link is not None:
            return link
        now = self.net.now()
        if now >= slot.retry_at:
            slot.connecting.start(signal)
            return NEVER
        return slot.retry_at

    async def link(self, node_id: int, role: LinkRole, deadline: float) -> BrokerLink:
        """The link to a broker, connecting if need be: one attempt. Raises NetworkError or TimedOut."""
        slot = self.slot(node_id, role)
        while True:
            self.check_open()
            link = slot.usable(self.address(node_id))
            if link is not None:
                return link
            pause = slot.retry_at - self.net.now()
            if pause > 0:
                await self.net.wait(self.net.signal(), min(deadline, slot.retry_at))
            attempts = slot.failures
            if not await slot.connecting.join(deadline):
                raise TimedOut(f"no connection to {self.address(node_id)} in the time given: {slot.doing or slot.error}")
            if slot.failures > attempts and slot.error is not None:
                raise slot.error

    async def call(
        self,
        node_id: int,
        message: Request,
        deadline: float,
        *,
        role: LinkRole = CONTROL,
        highest: int | None = None,
    ) -> Any:
        """One request to one broker, without retries. Raises NetworkError, TimedOut, DecodeError, UnsupportedVersionError.

        A link that brings no answer for request_timeout_ms is given up: it may be half dead, and would keep its place.
        """
        link = await self.link(node_id, role, deadline)
        await link.wait_out(deadline)
        patience = self.net.now() + self.options["request_timeout_ms"] / 1000
        try:
            return await link.call(message, min(deadline, patience), highest)
        except TimedOut as error:
            name, seconds = type(message).name, self.options["request_timeout_ms"] / 1000
            late = f"in {seconds:g} s" if patience <= deadline else "in the time given"
            failure = type(error)(f"{link.address} did not answer {name} {late}")
            if patience <= deadline:
                link.link.fail(failure)
            raise failure from None

    async def request(self, message: Request, broker: int | None, deadline: float) -> Any:
        """The same to a broker by its node id, or to any, once the brokers are known."""
        if not isinstance(message, Request):
            raise TypeError(f"message is a Request of kafkawire.protocol, not {message!r}")
        if broker is not None:
            check_node(broker)
        if not self.snapshot.brokers or (broker is not None and broker not in self.snapshot.brokers):
            await self.refresh(deadline)
        return await self.call(self.any_broker() if broker is None else broker, message, deadline)

    def any_broker(self) -> int:
        """A broker to ask what every broker knows: connected ones first, then known ones, then the bootstrap servers."""
        known = list(self.snapshot.brokers) or list(self._bootstrap)
        return random.choice([node for node in known if self._is_ready(node)] or known)

    def _is_ready(self, node_id: int) -> bool:
        slot = self._slots.get((node_id, CONTROL))
        return slot is not None and slot.quiet

    def trouble(self, node_id: int, role: LinkRole) -> str | None:
        """Why there is no link to a broker, as far as is known; None while nothing is wrong."""
        slot = self._slots.get((node_id, role))
        if slot is None or slot.up:
            return None
        if slot.error is not None:
            return str(slot.error)
        return f"broker {node_id}: {slot.doing}" if slot.doing else None

    def release(self, role: LinkRole) -> None:
        """Close the links of a role that is over."""
        with self._lock:
            slots = self._take_slots(role)
        for slot in slots:
            slot.close()

    def _take_slots(self, role: LinkRole) -> list[LinkSlot]:
        return [self._slots.pop(key) for key in list(self._slots) if key[1] is role]

    # ---- metadata

    def want(self, topic: str, *, create: bool) -> None:
        """Keep the metadata of a topic; with `create` the broker may create it when asked."""
        check_topic(topic)
        self._wanted[topic] = create or self._wanted.get(topic, False)

    def suspect_metadata(self) -> None:
        """Something has failed that newer metadata may explain: have it asked for. Any thread."""
        self._outdated = True

    def keep_fresh(self, signal: Signal) -> float:
        """Ask for metadata if it is suspected to be wrong, or old; returns when to look again.

        `signal` is set when the answer is in. While the suspicion comes back again and again, so do rounds of asking, with
        pauses between them that grow.
        """
        now = self.net.now()
        aged = self.snapshot.updated_at + self.options["metadata_max_age_ms"] / 1000
        due = max(self._ask_again_at, now if self._outdated else aged)
        if due > now:
            return due
        self._refresh.start(signal)
        return NEVER

    async def refresh(self, deadline: float, *, all_topics: bool = False) -> None:
        """Ask for metadata and wait for it.

        Raises BootstrapError at the deadline if no broker has answered, TimedOut if there was no time to ask all; at once
        NotKafkaError or TlsError where trying again cannot help: no server has ever answered, and what is wrong with each is
        wrong for good.
        """
        self._want_all = self._want_all or all_topics
        start = self._refreshed
        while self._refreshed == start or (all_topics and self._want_all):
            self.check_open()
            if not await self._refresh.join(deadline) or self._is_hopeless():
                raise self._no_metadata()
            if self._refresh_error is not None:
                await self.net.wait(self.net.signal(), min(deadline, self._ask_again_at))
                if self.net.now() >= deadline:
                    raise self._no_metadata()

    async def topic(self, name: str, deadline: float, *, create: bool = False) -> Topic:
        """A topic's metadata, once it is there.

        Raises UnknownTopicError at the deadline if the cluster has answered and does not have the topic, another BrokerError if
        it says so for good (authorization, an invalid name), or as `refresh`.
        """
        self.check_open()
        self.want(name, create=create)
        attempts = 0
        while True:
            topic = self.snapshot.topics.get(name)
            if topic is not None:
                return topic
            if self.net.now() >= deadline:
                raise self._unknown_topic(name) if name in self._topic_errors else self._no_metadata()
            try:
                await self.refresh(deadline)
            except TimedOut:
                if name in self._topic_errors:
                    raise self._unknown_topic(name) from None
                raise
            if name in self.snapshot.topics:
                continue
            code = self._topic_errors.get(name)
            if code is not None and not code.retriable:
                raise broker_error(code, f"topic {name!r}")
            if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not create and attempts >= UNKNOWN_FOR_GOOD:
                raise self._unknown_topic(name)
            attempts += 1
            await self.net.wait(self.net.signal(), min(deadline, self.net.now() + self.retry_backoff.delay(attempts)))

    def _is_hopeless(self) -> bool:
        """Whether asking again cannot help. What worked before may work again: a bad certificate may be replaced once more."""
        return self._refresh_error is not None and not self._refresh_error.retriable and not self.snapshot.brokers

    def _no_metadata(self) -> KafkaError:
        """The error of the last round of asking, or the state of the first one."""
        if self._refresh_error is not None:
            return self._refresh_error
        reasons: dict[Address, object] = dict(self._reasons)
        if self._asking is not None:
            reasons[self.address(self._asking)] = self.slot(self._asking, CONTROL).doing or "no answer to Metadata yet"
        return TimedOut(f"no metadata from the cluster in the time given. {_listed(reasons)}".strip())

    def _unknown_topic(self, name: str) -> KafkaError:
        code = self._topic_errors.get(name) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return broker_error(code, f"topic {name!r}")
        brokers = ", ".join(f"{b.host}:{b.port}" for b in self.snapshot.brokers.values())
        return UnknownTopicError(code, f"topic {name!r} is not on the cluster ({brokers}): create it, or correct the name")

    async def _refresh_metadata(self) -> None:
        """One round: brokers in turn until one answers."""
        self._outdated = False
        in_a_row = self.net.now() - self._asked_at < IN_A_ROW
        self._rounds_in_a_row = self._rounds_in_a_row + 1 if in_a_row else 0
        self._refresh_error = await self._ask_in_turn()
        if self._refresh_error is None:
            self._refreshed += 1
        else:
            self._outdated = True
        self._asked_at = self.net.now()
        pause = self.retry_backoff.delay(self._rounds_in_a_row) if self._rounds_in_a_row else 0.0
        self._ask_again_at = self._asked_at + pause

    async def _ask_in_turn(self) -> KafkaError | None:
        """Why no broker has answered; None if one has."""
        self._reasons = {}
        for node_id in self._metadata_sources():
            self._asking = node_id
            try:
                await self._ask_metadata(node_id)
            except KafkaError as error:
                self._reasons[self.address(node_id)] = error
            else:
                return None
        return _unreachable(self._reasons)

    def _metadata_sources(self) -> list[int]:
        up: list[int] = []
        known: list[int] = []
        for node in self.snapshot.brokers:
            (up if self._is_ready(node) else known).append(node)
        bootstrap = list(self._bootstrap)
        for group in (up, known, bootstrap):
            random.shuffle(group)
        return up + known + bootstrap

    async def _ask_metadata(self, node_id: int) -> None:
        if self._want_all:
            await self._ask_for(node_id, None, create=False)
            self._want_all = False
        else:
            await self._ask_for(node_id, list(self._wanted), create=False)
        missing = [name for name, create in list(self._wanted.items()) if create and name not in self.snapshot.topics]
        if missing:
            await self._ask_for(node_id, missing, create=True)

    async def _ask_for(self, node_id: int, names: list[str] | None, *, create: bool) -> None:
        # Connecting and every request have deadlines of their own: a silent broker must not use up the time of the others.
        link = await self.link(node_id, CONTROL, NEVER)
        version = link.version(MetadataRequest)
        topics = None if names is None else [MetadataRequest.Topic(name=name) for name in names]
        if version == 0 and topics is None:
            topics = []  # v0 has no null: there an empty list asks for all topics (trap 19)
        message = MetadataRequest(topics=topics)
        if version >= 4:
            message.allow_auto_topic_creation = create
        response: MetadataResponse = await self.call(node_id, message, NEVER)
        if response.error_code:
            # REBOOTSTRAP_REQUIRED (KIP-1102): the next sources are asked, at last the bootstrap servers.
            raise broker_error(response.error_code, f"metadata from {link.address}")
        asked = None if names is None or (version == 0 and not names) else frozenset(names)
        with self._lock:
            self.snapshot, errors = merge(self.snapshot, response, version, asked, self.net.now())
            if asked is None:
                self._topic_errors.clear()
            else:
                self._topic_errors.update(dict.fromkeys(asked))
            self._topic_errors.update(errors)

    # ---- end

    def check_reachable(self) -> None:
        """Raise BootstrapError or NotKafkaError if no broker has ever answered, as far as has been tried."""
        if self._refresh_error is not None and not self.snapshot.brokers:
            raise self._refresh_error

    def check_open(self) -> None:
        """Raise ClosedError after close()."""
        if self.closed:
            raise ClosedError("the connection is closed: make a new one")

    def close(self) -> None:
        """Close every link. Idempotent; connects under way close what they open."""
        self.closed = True
        with self._lock:
            slots = list(self._slots.values())
        for slot in slots:
            slot.close()


def _unreachable(reasons: Mapping[Address, KafkaError]) -> KafkaError:
    """One error of many; none of the others helps to try again only if no server can ever be connected to as things are."""
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

"""Links to brokers: one slot for each (broker, role), in which connecting runs once at a time."""

from __future__ import annotations

import logging
from enum import Enum

from kafkawire.config import ConnectionOptions
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.connector import Connector
from kafkawire.core.cluster.metadata import Address, Metadata
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.core.states import Transitions, transition
from kafkawire.errors import ClosedError, KafkaError, NetworkError, TimedOut
from kafkawire.net.base import NEVER, Net, Signal

__all__ = ["CONTROL", "LinkRole", "LinkSlot", "LinkSlots", "LinkState"]

log = logging.getLogger("kafkawire.connection")


class LinkRole:
    """The use that a link is made for.

    A broker answers one connection in order, so requests that may wait long at the broker have links of their own.
    Links of the role CONTROL are shared by everything on a connection. Each producer and consumer makes roles of its own, and
    releases their links when it is closed.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


CONTROL = LinkRole("control")


class LinkState(Enum):
    """States of a link slot."""

    EMPTY = "empty"
    """No link was asked for, or connecting was cut off without an outcome."""
    CONNECTING = "connecting"
    """A connect or handshake is in progress."""
    READY = "ready"
    """A link was made. It may have gone down since, as its own error tells: the next use connects anew."""
    BACKING_OFF = "backing off"
    """The last connect failed; the next one waits until `retry_at`."""
    CLOSED = "closed"
    """The slot is not used any more."""


TRANSITIONS: Transitions[LinkState] = {
    LinkState.EMPTY: {LinkState.CONNECTING, LinkState.CLOSED},
    LinkState.CONNECTING: {LinkState.READY, LinkState.BACKING_OFF, LinkState.EMPTY, LinkState.CLOSED},
    LinkState.READY: {LinkState.CONNECTING, LinkState.CLOSED},
    LinkState.BACKING_OFF: {LinkState.CONNECTING, LinkState.CLOSED},
}


class LinkSlot:
    """The link to one broker for one role, and how connecting has gone.

    Written under its lock by the flow of `connecting`, which runs once at a time, and by `close`. Any thread may read it.
    """

    def __init__(
        self,
        node_id: int,
        role: LinkRole,
        net: Net,
        metadata: Metadata,
        connector: Connector,
        backoff: Backoff,
        max_idle: float,
    ) -> None:
        self.state = LinkState.EMPTY
        self.node_id = node_id
        self.link: BrokerLink | None = None
        """The link that was made last."""
        self.error: KafkaError | None = None
        """Why the last connect failed; None if it did not."""
        self.failures = 0
        """Failed connects in a row."""
        self.retry_at = 0.0
        """Time before which no connect is tried again; in the past unless the slot is backing off."""
        self.progress = ""
        """The present step of connecting, as text; empty unless the slot is connecting."""
        self.connecting = SingleFlight(net, self._connect, f"kafkawire-connect-{node_id}-{role.name}")
        self._net = net
        self._connector = connector
        self._metadata = metadata
        self._backoff = backoff
        self._max_idle = max_idle
        self._lock = net.lock()

    def __repr__(self) -> str:
        return f"link slot of broker {self.node_id}"

    def usable(self, address: Address) -> BrokerLink | None:
        """The link if it is up and leads to the broker's present address (trap 110: ids move to new addresses).

        A link that was idle for long is not used again: the broker may be closing it at this moment (trap 14).
        """
        link = self.link
        if link is None or link.link.error is not None or link.address != address:
            return None
        return link if self._net.now() - link.used_at < self._max_idle else None

    @property
    def is_up(self) -> bool:
        """True if there is a link that has not failed."""
        return self.link is not None and self.link.link.error is None

    @property
    def is_ready(self) -> bool:
        """True if there is a link that has not failed and whose broker does not throttle this client."""
        return self.link is not None and self.link.link.error is None and self.link.muted_until <= self._net.now()

    def close(self) -> None:
        """Close the link, or the one that is being made, once it is. Idempotent."""
        with self._lock:
            if self.state is not LinkState.CLOSED:
                self._enter(LinkState.CLOSED)
            link = self.link
        if link is not None:
            link.link.close()

    async def _connect(self) -> None:
        if not self._begin():
            return
        try:
            link = await self._connector.open(self._metadata.address(self.node_id), self._report)
        except ClosedError:  # the driver, or its event loop, was closed: that says nothing about the broker
            self._cut_off()
        except KafkaError as error:
            self._failed(error)
        except BaseException:
            self._cut_off()
            raise
        else:
            self._opened(link)

    def _begin(self) -> bool:
        """Start connecting; False if there is a usable link, or the slot is closed."""
        try:
            link = self.usable(self._metadata.address(self.node_id))
        except NetworkError:  # an unknown broker: connecting fails with this error
            link = None
        with self._lock:
            if link is not None or self.state is LinkState.CLOSED:
                return False
            self._enter(LinkState.CONNECTING)
        if self.link is not None:
            self.link.link.close()
        return True

    def _opened(self, link: BrokerLink) -> None:
        with self._lock:
            closed = self.state is LinkState.CLOSED
            if not closed:
                self.link = link
                self.error = None
                self.failures = 0
                self._enter(LinkState.READY)
        if closed:
            link.link.close()

    def _failed(self, error: KafkaError) -> None:
        with self._lock:
            if self.state is LinkState.CLOSED:
                return
            self.error = error
            self.failures += 1
            self.retry_at = self._net.now() + self._backoff.delay(self.failures)
            self._enter(LinkState.BACKING_OFF)
        self._metadata.suspect()
        who = f"broker {self.node_id}" if self.node_id >= 0 else f"bootstrap server {self._metadata.address(self.node_id)}"
        log.log(logging.WARNING if self.failures == 1 else logging.DEBUG, "%s: %s", who, error)

    def _cut_off(self) -> None:
        with self._lock:
            if self.state is not LinkState.CLOSED:
                self._enter(LinkState.EMPTY)

    def _enter(self, state: LinkState) -> None:
        self.state = transition(TRANSITIONS, self.state, state, self)
        self.progress = ""

    def _report(self, progress: str) -> None:
        self.progress = progress


class LinkSlots:
    """The links of one connection, by broker and role. Thread-safe; slots are added and removed under its lock."""

    def __init__(self, net: Net, options: ConnectionOptions, metadata: Metadata) -> None:
        self.closed = False
        self._net = net
        self._metadata = metadata
        self._connector = Connector(net, options)
        self._backoff = Backoff(options["reconnect_backoff_ms"], options["reconnect_backoff_max_ms"])
        self._max_idle = options["connections_max_idle_ms"] / 1000
        self._slots: dict[tuple[int, LinkRole], LinkSlot] = {}
        self._lock = net.lock()

    def link_or_connect(self, node_id: int, role: LinkRole, signal: Signal) -> BrokerLink | float:
        """Returns the link to a broker if it is up, otherwise the time to call again. Does not wait.

        Starts to connect unless the slot is backing off; `signal` is set at the end of the connect. Raises NetworkError if the
        cluster no longer lists the broker, and ClosedError.
        """
        self.check_open()
        slot = self._slot(node_id, role)
        link = slot.usable(self._metadata.address(node_id))
        if link is not None:
            return link
        if self._net.now() >= slot.retry_at:
            slot.connecting.start(signal)
            return NEVER
        return slot.retry_at

    async def link(self, node_id: int, role: LinkRole, deadline: float) -> BrokerLink:
        """Returns the link to a broker, after at most one connect. Raises NetworkError, TimedOut or ClosedError."""
        while True:
            self.check_open()
            slot = self._slot(node_id, role)
            link = slot.usable(self._metadata.address(node_id))
            if link is not None:
                return link
            if slot.retry_at > self._net.now():
                await self._net.wait(self._net.signal(), min(deadline, slot.retry_at))
            failures = slot.failures
            if not await slot.connecting.join(deadline):
                where = self._metadata.address(node_id)
                raise TimedOut(f"no connection to {where} in the time given: {slot.progress or slot.error}")
            if slot.failures > failures and slot.error is not None:
                raise slot.error

    def is_ready(self, node_id: int) -> bool:
        """True if the control link of a broker is up and the broker does not throttle this client."""
        slot = self._slots.get((node_id, CONTROL))
        return slot is not None and slot.is_ready

    def progress(self, node_id: int, role: LinkRole) -> str:
        """The present step of connecting to a broker, as text; empty if no connect is in progress."""
        slot = self._slots.get((node_id, role))
        return "" if slot is None else slot.progress

    def trouble(self, node_id: int, role: LinkRole) -> str | None:
        """The reason why there is no link to a broker, as far as it is known; None while nothing is wrong."""
        slot = self._slots.get((node_id, role))
        if slot is None or slot.is_up:
            return None
        if slot.error is not None:
            return str(slot.error)
        return f"broker {node_id}: {slot.progress}" if slot.progress else None

    def release(self, role: LinkRole) -> None:
        """Close the links of a role that is not used any more."""
        with self._lock:
            slots = self._remove(role)
        for slot in slots:
            slot.close()

    def _remove(self, role: LinkRole) -> list[LinkSlot]:
        return [self._slots.pop(key) for key in list(self._slots) if key[1] is role]

    def check_open(self) -> None:
        """Raise ClosedError after `close`."""
        if self.closed:
            raise ClosedError("the connection is closed: make a new one")

    def close(self) -> None:
        """Close every link. Idempotent; connects in progress close the link that they open."""
        with self._lock:
            self.closed = True
            slots = list(self._slots.values())
        for slot in slots:
            slot.close()

    def _slot(self, node_id: int, role: LinkRole) -> LinkSlot:
        slot = self._slots.get((node_id, role))
        return self._add_slot(node_id, role) if slot is None else slot

    def _add_slot(self, node_id: int, role: LinkRole) -> LinkSlot:
        slot = LinkSlot(node_id, role, self._net, self._metadata, self._connector, self._backoff, self._max_idle)
        with self._lock:
            self.check_open()
            return self._slots.setdefault((node_id, role), slot)

"""Link slots: one connect at a time for each (broker, role), backing off after failures."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkawire.core.cluster import link_slots
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.link_slots import CONTROL, TRANSITIONS, LinkRole, LinkSlot, LinkState
from kafkawire.errors import ClosedError, ConnectError, ConnectionLost, NetworkError, TimedOut
from kafkawire.net.base import NEVER
from tests.core.cluster.simulated import Simulated

EMPTY, CONNECTING, READY, BACKING_OFF, CLOSED = LinkState
FETCH = LinkRole("fetch")
BROKER = 1


class RecordedSlot(LinkSlot):
    """A slot that keeps the states it has been in."""

    def __setattr__(self, name, value):
        if name == "state":
            self.states = [*getattr(self, "states", ()), value]
        super().__setattr__(name, value)


class Watched(Simulated):
    """A client that knows the cluster, and the slot for the fetch link of a broker."""

    def __init__(self, monkeypatch, **options):
        monkeypatch.setattr(link_slots, "LinkSlot", self._make)
        self.slots = []
        super().__init__(brokers=2, **options)

    def _make(self, node_id, role, *arguments):
        slot = RecordedSlot(node_id, role, *arguments)
        if role is FETCH:
            self.slots.append(slot)
        return slot

    def start(self, flow):
        """Run a flow once metadata is known; returns the states of the first fetch slot."""

        async def main():
            await self.client.updater.refresh(NEVER)
            await flow()

        self.run(main)
        return self.slots[0].states if self.slots else []

    def link_or_connect(self, signal=None):
        return self.client.links.link_or_connect(BROKER, FETCH, signal or self.net.signal())

    async def link(self, seconds=60.0):
        return await self.client.links.link(BROKER, FETCH, self.net.now() + seconds)

    async def pause(self, seconds):
        await self.net.wait(self.net.signal(), self.net.now() + seconds)

    async def act(self, action):
        """Do one of ACTIONS."""
        match action:
            case "connect":
                self.link_or_connect()
            case "ask":
                with contextlib.suppress(NetworkError, TimedOut):
                    assert (await self.link(1.0)).link.error is None
            case "cut":
                self.net.cut_links("broker-1")
            case "broker down":
                self.net.hosts.take_down("broker-1")
            case "broker up":
                self.net.hosts.bring_up("broker-1")
            case "broker moves":
                self.server.move_broker(BROKER, "elsewhere")
                await self.client.updater.refresh(NEVER)
            case "wait":
                await self.pause(0.1)
            case "wait long":
                await self.pause(30.0)
            case "release":
                self.client.links.release(FETCH)


@pytest.fixture
def rig(monkeypatch):
    return Watched(monkeypatch, reconnect_backoff_ms=1_000, reconnect_backoff_max_ms=1_000, connections_max_idle_ms=10_000)


def test_the_table_has_a_way_to_close_from_every_other_state():
    assert set(TRANSITIONS) == set(LinkState) - {CLOSED}
    assert all(CLOSED in after for after in TRANSITIONS.values())


ACTIONS = ("connect", "ask", "cut", "broker down", "broker up", "broker moves", "wait", "wait long", "release")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(ACTIONS), max_size=20))
def test_whatever_happens_the_states_follow_the_table_and_the_link_belongs_to_its_state(monkeypatch, actions):
    rig = Watched(monkeypatch, connections_max_idle_ms=10_000)

    async def flow():
        for action in actions:
            await rig.act(action)
            for slot in rig.slots:
                assert (slot.link is not None) or (slot.state is not READY)
                assert bool(slot.failures) == (slot.error is not None)
                assert slot.state is CONNECTING or not slot.progress
                assert slot.state in (BACKING_OFF, CLOSED) or slot.retry_at <= rig.net.now()

    rig.start(flow)
    for slot in rig.slots:
        assert all(new in TRANSITIONS[old] for old, new in pairwise(slot.states))
        assert slot.state is CLOSED
        assert not slot.is_up


def test_a_link_is_made_when_it_is_asked_for_and_kept(rig):

    async def flow():
        signal = rig.net.signal()
        assert rig.link_or_connect(signal) == NEVER
        assert await rig.net.wait(signal)
        link = rig.link_or_connect()
        assert isinstance(link, BrokerLink)
        assert rig.link_or_connect() is await rig.link() is link

    states = rig.start(flow)
    assert states == [EMPTY, CONNECTING, READY, CLOSED]


def test_a_link_that_went_down_is_made_anew(rig):

    async def flow():
        link = await rig.link()
        link.link.fail(ConnectionLost("cut"))
        assert rig.client.links.trouble(BROKER, FETCH) is None  # nothing has failed that was tried since
        assert await rig.link() is not link

    states = rig.start(flow)
    assert states == [EMPTY, CONNECTING, READY, CONNECTING, READY, CLOSED]


def test_a_link_that_was_idle_for_long_is_made_anew(rig):

    async def flow():
        link = await rig.link()
        await rig.pause(11.0)
        assert await rig.link() is not link
        assert link.link.error is not None

    rig.start(flow)


def test_after_a_failure_the_slot_backs_off_and_metadata_is_suspected(rig):

    async def flow():
        rig.net.hosts.take_down("broker-1")
        with pytest.raises(ConnectError):
            await rig.link()
        assert rig.client.metadata.suspected
        assert "Connection refused" in (rig.client.links.trouble(BROKER, FETCH) or "")
        until = rig.link_or_connect()
        assert 0.8 <= until - rig.net.now() <= 1.2
        rig.net.hosts.heal()
        await rig.link()
        assert rig.net.now() >= until
        assert rig.client.links.trouble(BROKER, FETCH) is None

    states = rig.start(flow)
    assert states == [EMPTY, CONNECTING, BACKING_OFF, CONNECTING, READY, CLOSED]


def test_a_broker_that_left_the_cluster_has_no_link(rig):

    async def flow():
        with pytest.raises(NetworkError, match="broker 9 is not in the cluster"):
            rig.client.links.link_or_connect(9, FETCH, rig.net.signal())
        with pytest.raises(NetworkError, match="broker 9 is not in the cluster"):
            await rig.client.links.link(9, FETCH, NEVER)

    rig.start(flow)


def test_a_caller_without_time_leaves_the_connect_to_others(rig):

    async def flow():
        with pytest.raises(TimedOut, match="no connection to broker-1:9092 in the time given: connecting"):
            await rig.link(0.0)
        await rig.link()

    states = rig.start(flow)
    assert states == [EMPTY, CONNECTING, READY, CLOSED]


def test_a_slot_that_is_closed_while_it_connects_closes_the_link_that_it_gets(rig):

    async def flow():
        ended = rig.net.signal()
        rig.link_or_connect(ended)
        await rig.pause(0.0)
        rig.client.links.release(FETCH)
        await rig.net.wait(ended)
        assert rig.slots[0].link is None

    assert rig.start(flow) == [EMPTY, CONNECTING, CLOSED]
    assert rig.server.journal.requests("ApiVersions")


def test_released_links_are_closed_and_others_are_not(rig):

    async def flow():
        fetch = await rig.link()
        control = await rig.client.links.link(BROKER, CONTROL, NEVER)
        rig.client.links.release(FETCH)
        assert fetch.link.error is not None
        assert control.link.error is None
        assert (await rig.link()).link.error is None

    rig.start(flow)


def test_after_close_there_are_no_links(rig):

    async def flow():
        rig.client.close()
        with pytest.raises(ClosedError):
            rig.link_or_connect()
        with pytest.raises(ClosedError):
            await rig.link()

    rig.start(flow)


def test_queries_change_nothing(rig):

    async def flow():
        links = rig.client.links
        for node in (BROKER, 9):
            assert not links.is_ready(9)
            assert links.progress(node, FETCH) == ""
            assert links.trouble(node, FETCH) is None

    rig.start(flow)
    assert not rig.slots

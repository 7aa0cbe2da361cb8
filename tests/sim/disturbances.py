"""Disturbances of a cluster in use: one small flow each, which does one once and ends it if it is to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkawire.net.base import sleep
from mockbroker.state.brokers import Broker
from tests.sim.links import BOTH_WAYS, TO_CLIENT, TO_SERVER

if TYPE_CHECKING:
    from tests.sim.simulation import Simulation

__all__ = [
    "Disturbance",
    "add_partition",
    "blackhole",
    "crash_unnoticed",
    "jump_wall_clock",
    "lose_broker",
    "move_broker",
    "move_leader",
    "recreate_topic",
    "restart_broker",
    "swap_brokers",
]

LAST_BOOTSTRAP = "broker-1"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One of the flows below, begun again every so many seconds on average after it has ended."""

    act: Callable[[Simulation], Awaitable[None]]
    every: float


def some_broker(sim: Simulation) -> Broker:
    return sim.chance.choice(sim.cluster.brokers.online())


async def move_leader(sim: Simulation) -> None:
    topic = sim.topic
    sim.cluster.move_leader(topic.name, sim.chance.randrange(len(topic.partitions)), some_broker(sim).id)


async def restart_broker(sim: Simulation) -> None:
    await _without_broker(sim, sim.chance.expovariate(0.5))


async def lose_broker(sim: Simulation) -> None:
    """For long; what it led goes to others, or has no leader."""
    await _without_broker(sim, sim.chance.uniform(20, 60))


async def _without_broker(sim: Simulation, seconds: float) -> None:
    broker = some_broker(sim)
    if len(sim.cluster.brokers.online()) > 1:
        sim.server.stop_broker(broker.id)
        await sleep(sim.net, seconds)
        sim.server.start_broker(broker.id)


async def crash_unnoticed(sim: Simulation) -> None:
    """The machine refuses connects, and metadata goes on naming it: the controller has not noticed."""
    host = some_broker(sim).host
    sim.net.hosts.take_down(host)
    sim.net.cut_links(host)
    await sleep(sim.net, sim.chance.uniform(1, 30))
    sim.net.hosts.bring_up(host)


async def blackhole(sim: Simulation) -> None:
    """Connections stay up and nothing comes through, one way or both; new connects hang."""
    ways = sim.chance.choice([BOTH_WAYS, BOTH_WAYS, (TO_SERVER,), (TO_CLIENT,)])
    seconds = sim.chance.choice([1.0, 4.0, 12.0])
    sim.net.hosts.darken(some_broker(sim).host, sim.net.now() + seconds, ways)
    await sleep(sim.net, seconds)


async def move_broker(sim: Simulation) -> None:
    """A broker comes back at another address; at the old one nothing answers, and nobody closes what was open there.

    One bootstrap address stays good: without any, nobody could find the cluster again.
    """
    broker = sim.chance.choice([broker for broker in sim.cluster.brokers.values() if broker.host != LAST_BOOTSTRAP])
    sim.net.hosts.darken(broker.host, float("inf"))
    sim.server.move_broker(broker.id, sim.new_host())
    await sleep(sim.net, 1.0)


async def swap_brokers(sim: Simulation) -> None:
    """Two brokers come back, each at the address of the other (trap 110)."""
    one, other = sim.chance.sample(list(sim.cluster.brokers.values()), 2)
    for broker in (one, other):
        sim.server.stop_broker(broker.id)
    one.host, other.host = other.host, one.host
    for broker in (one, other):
        sim.server.start_broker(broker.id)


async def recreate_topic(sim: Simulation) -> None:
    sim.recreate_topic()


async def add_partition(sim: Simulation) -> None:
    sim.cluster.add_partitions(sim.topic, len(sim.topic.partitions) + 1)


async def jump_wall_clock(sim: Simulation) -> None:
    """Back by days, or ahead by what brokers allow (message.timestamp.after.max.ms)."""
    sim.net.wall_clock_error = sim.chance.uniform(-7 * 86_400, 3_000)

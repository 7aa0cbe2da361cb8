"""One run of a scenario: a cluster, those who use it, and the storm that they have to live through."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Coroutine
from itertools import count
from typing import Any, TypeVar

from kafkawire.net.base import NEVER, join, sleep
from mockbroker import Cluster, MemoryServer
from mockbroker.state.topics import Topic
from tests.sim.answers import Lie
from tests.sim.consuming import Reader
from tests.sim.disturbances import Disturbance
from tests.sim.driver import EPOCH, SimNet
from tests.sim.judgement import check_balance, check_logs, check_pauses, check_promptness, check_reading
from tests.sim.producing import Writer
from tests.sim.scenarios import SCENARIOS, Scenario

__all__ = ["Simulation", "run", "scenario_of"]

TOPIC = "t"
BROKERS = 3

T = TypeVar("T")


class Simulation:
    """The run of a scenario that a seed stands for."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.net = SimNet(seed, scenario.links, longest=scenario.storm + 10 * scenario.recovery)
        self.chance = self.net.rng
        self.cluster = Cluster(BROKERS, version=self.chance.choice(scenario.versions), wall_clock_offset=EPOCH)
        self.lives: list[Topic] = []
        """The topic, and those that had its name before."""
        self._create_topic()
        self.server = MemoryServer(self.cluster, self.net)
        if scenario.hurry:
            self.net.intrude([self.net.hurry], scenario.hurry)
        self.net.serve(self.server)
        self.bootstrap = self.server.bootstrap
        self.writers = [Writer(self, number) for number in range(scenario.producers)]
        self.readers = [Reader(self) for _ in range(scenario.consumers)]
        self._hosts = count(1)
        for bad in scenario.answers:
            self.server.faults.add(bad.fault(seed=self.chance.randrange(1 << 30)))

    @property
    def topic(self) -> Topic:
        return self.lives[-1]

    @property
    def storming(self) -> bool:
        return self.net.now() < self.scenario.storm

    @property
    def limit(self) -> float:
        """When everything has to be written and read."""
        return self.scenario.storm + self.scenario.recovery

    def run(self) -> None:
        """Run it, and judge."""
        self.net.run(self._main())
        check_logs(self)
        for reader in self.readers:
            check_reading(self, reader)
        if self.scenario.prompt:
            check_promptness(self)
        if any(bad.kind is Lie for bad in self.scenario.answers):
            check_pauses(self)

    async def timed(self, call: Awaitable[T], deadline: float) -> T:
        """The outcome of a call, which has to come by its deadline."""
        try:
            return await call
        finally:
            late = self.net.now() - deadline
            assert late < 1e-6, f"{call} came {late} s after its deadline"

    def recreate_topic(self) -> None:
        self.cluster.delete_topic(TOPIC)
        self._create_topic()

    def new_host(self) -> str:
        return f"elsewhere-{next(self._hosts)}"

    def _create_topic(self) -> None:
        self.lives.append(self.cluster.create_topic(TOPIC, self.scenario.partitions, self.scenario.replicas))

    async def _main(self) -> None:
        flows: list[Coroutine[Any, Any, None]] = [writer.run() for writer in self.writers]
        flows += [reader.run() for reader in self.readers]
        flows += [self._disturb(each) for each in self.scenario.disturbances]
        flows.append(self._audit())
        ends = [self.net.signal() for _ in flows]
        tasks = [self.net.spawn(flow, end) for flow, end in zip(flows, ends, strict=True)]
        await sleep(self.net, self.scenario.storm)
        self._calm()
        for task, end in zip(tasks, ends, strict=True):
            await join(self.net, task, end, NEVER)
            if task.error is not None:
                raise task.error

    def _calm(self) -> None:
        self.net.calm()
        self.server.faults.clear()
        for broker in self.cluster.brokers.values():
            if not broker.online:
                self.server.start_broker(broker.id)

    async def _disturb(self, disturbance: Disturbance) -> None:
        while self.storming:
            await sleep(self.net, self.chance.expovariate(1 / disturbance.every))
            if self.storming:
                await disturbance.act(self)

    async def _audit(self) -> None:
        while not all(writer.done for writer in self.writers) and self.net.now() < self.limit:
            await sleep(self.net, self.chance.expovariate(1.0))
            for writer in self.writers:
                check_balance(writer)


def scenario_of(seed: int) -> str:
    """Seeds take the scenarios in turn."""
    return list(SCENARIOS)[seed % len(SCENARIOS)]


def run(seed: int, scenario: str | None = None) -> str:
    """Run one seed, of the scenario whose turn it is or of this one; its digest. A failure says how to run it alone."""
    name = scenario or scenario_of(seed)
    random.seed(seed)  # jitter, and which broker is asked
    simulation = Simulation(SCENARIOS[name], seed)
    try:
        simulation.run()
    except BaseException as error:
        error.add_note(f"to run it alone: python -m tests.sim --scenario {name} --from {seed}")
        raise
    return simulation.net.digest()

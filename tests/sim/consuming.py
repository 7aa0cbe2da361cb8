"""A consumer of a simulation: reads in many ways all that there is, and keeps it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.client import Client
from kafkawire.core.consumer import ConsumerCore
from kafkawire.errors import ConfigurationError, KafkaError
from kafkawire.events import PositionReset
from kafkawire.message import Message, TopicPartition

if TYPE_CHECKING:
    from tests.sim.simulation import Simulation

__all__ = ["Reader"]


class Reader:
    """One consumer of all partitions."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.read: dict[int, list[Message]] = defaultdict(list)
        self.next: dict[int, int] = defaultdict(int)
        """By partition, the offset behind the last that was read of its topic as it is now."""
        given = {"bootstrap_servers": sim.bootstrap, "request_timeout_ms": 5_000, "auto_offset_reset": "earliest"}
        options = resolve(ConsumerOptions, {**given, **sim.scenario.consumer_options})
        self.client = Client(sim.net, options)
        self.core = ConsumerCore(self.client, options, [sim.topic.name])

    async def run(self) -> None:
        sim = self.sim
        while not self.at_end():
            assert sim.net.now() < sim.limit, f"not everything was read in time: {self.left()}"
            await self.poll()
            if sim.chance.random() < 0.05:
                await self.do_something_else()
        for partition in sim.topic.partitions:
            position = self.core.position(TopicPartition(sim.topic.name, partition.index), sim.limit)
            assert await sim.timed(position, sim.limit) == partition.log.end
        self.core.close()
        self.client.close()

    async def poll(self) -> None:
        sim = self.sim
        deadline = sim.net.now() + sim.chance.choice((0.1, 1.0, 5.0))
        most = sim.chance.choice((1, 7, 500))
        found: list[Message] = []
        try:
            found = await sim.timed(self.core.poll(deadline, lambda until: self.core.take(most, until)), deadline)
        except KafkaError:
            if not sim.storming:
                raise
        for event in self.core.events():
            if isinstance(event, PositionReset):
                self.next[event.partition] = 0
        for message in found:
            self.read[message.partition].append(message)
            self.next[message.partition] = message.next_offset

    async def do_something_else(self) -> None:
        """What must not lose or repeat a record."""
        assigned = sorted(self.core.assignment())
        if not assigned:
            return
        tp = self.sim.chance.choice(assigned)
        what = self.sim.chance.randrange(4)
        if what == 0:
            self.core.pause(tp)
            self.core.resume(tp)
        elif what == 1:
            self.be_refused(tp)
        elif self.read[tp.partition]:
            deadline = self.sim.net.now() + 60
            position = await self.sim.timed(self.core.position(tp, deadline), deadline)
            if what == 2:
                self.core.seek(tp, position)

    def be_refused(self, tp: TopicPartition) -> None:
        for partition, where in ((TopicPartition(tp.topic, 99), 0), (tp, -1), (tp, "nowhere")):
            try:
                self.core.seek(partition, where)
            except ConfigurationError:
                continue
            raise AssertionError(f"seek({partition}, {where!r}) was not refused")

    def at_end(self) -> bool:
        """Whether everything was read that ever will be there."""
        return all(writer.done for writer in self.sim.writers) and not self.left()

    def left(self) -> dict[int, tuple[int, int]]:
        """By partition, the last offset that was read and the end of the log, where they do not meet."""
        ends = {partition.index: partition.log.end for partition in self.sim.topic.partitions}
        return {index: (self.next[index], end) for index, end in ends.items() if self.next[index] != end}

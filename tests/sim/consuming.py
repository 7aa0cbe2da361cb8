"""A consumer of a simulation: reads in many ways all that there is, and keeps it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.errors import BootstrapError, ConfigurationError, KafkaError
from kafkawire.events import PositionReset
from kafkawire.message import Message, TopicPartition
from mockbroker.state.topics import Partition
from tests.sim.judgement import messages_in

if TYPE_CHECKING:
    from tests.sim.simulation import Simulation

__all__ = ["Reader"]


class Reader:
    """One consumer of all partitions."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.read: dict[int, list[Message]] = defaultdict(list)
        self.read_at: dict[bytes | None, float] = {}
        """When each value was read."""
        self.resets: Counter[int] = Counter()
        """By partition, how often the consumer has told that its position was lost."""
        given = {"bootstrap_servers": sim.bootstrap, "request_timeout_ms": 5_000, "auto_offset_reset": "earliest"}
        options = resolve(ConsumerOptions, {**given, **sim.scenario.consumer_options})
        self.client = ClusterClient(sim.net, options)
        self.core = ConsumerCore(self.client, options, [sim.topic.name])

    async def run(self) -> None:
        sim = self.sim
        while not all(writer.done for writer in sim.writers) or await self.left():
            assert sim.net.now() < sim.limit, f"not everything was read in time: {await self.left()}"
            await self.poll()
            if sim.chance.random() < 0.05:
                await self.do_something_else()
        self.core.close()
        self.client.close()

    async def poll(self) -> None:
        sim = self.sim
        deadline = sim.net.now() + sim.chance.choice((0.1, 1.0, 5.0))
        most = sim.chance.choice((1, 7, 500))
        try:
            for message in await sim.timed(
                self.core.poll(deadline, lambda until: self.core.collector.take(most, until)), deadline
            ):
                self.read[message.partition].append(message)
                self.read_at[message.value] = sim.net.now()
            self.resets.update(event.partition for event in self.core.events() if isinstance(event, PositionReset))
        except BootstrapError:  # poll() says so at its end for as long as no broker has ever answered
            assert not self.client.metadata.snapshot.brokers
            assert sim.net.now() < sim.limit
        except KafkaError:
            if not sim.storming:
                raise

    async def do_something_else(self) -> None:
        """Calls that must not lose or repeat a record."""
        assigned = sorted(self.core.assignment())
        if not assigned:
            return
        tp = self.sim.chance.choice(assigned)
        what = self.sim.chance.randrange(4)
        if what == 0:
            self.core.pause([tp])
            self.core.resume([tp])
        elif what == 1:
            self.be_refused(tp)
        elif self.read[tp.partition]:
            position = await self.position(tp.partition)
            if what == 2 and position is not None:
                self.core.seek(tp, position)

    def be_refused(self, tp: TopicPartition) -> None:
        for partition, where in ((TopicPartition(tp.topic, 99), 0), (tp, -1), (tp, "nowhere")):
            try:
                self.core.seek(partition, where)
            except ConfigurationError:
                continue
            raise AssertionError(f"seek({partition}, {where!r}) was not refused")

    async def left(self) -> dict[int, str]:
        """By partition what is still to be read."""
        return {
            partition.index: f"at {position} of {partition.log.log_end_offset}"
            for partition in self.sim.topic.partitions
            if not self.has_read(partition, position := await self.position(partition.index))
        }

    def has_read(self, partition: Partition, position: int | None) -> bool:
        """True if a partition was read to its end; an offset in a deleted topic of that name does not count."""
        if position != partition.log.log_end_offset:
            return False
        read = self.read[partition.index]
        return position == 0 or (bool(read) and read[-1].value == messages_in(partition)[-1].value)

    async def position(self, index: int) -> int | None:
        """Position of the consumer in a partition; None if it does not know the partition yet."""
        tp = TopicPartition(self.sim.topic.name, index)
        if tp not in self.core.assignment():
            return None
        deadline = self.sim.net.now() + 60
        return await self.sim.timed(self.core.position(tp, deadline), deadline)

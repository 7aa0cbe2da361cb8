"""A producer of a simulation: sends records of every kind, and calls that must be refused; knows what became of each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ProducerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.errors import ClosedError, KafkaError
from kafkawire.message import Header
from kafkawire.net.base import sleep

if TYPE_CHECKING:
    from tests.sim.simulation import Simulation

__all__ = ["Sent", "Writer"]

PATIENT = {"delivery_timeout_ms": 3_600_000, "max_block_ms": 3_600_000}
REQUEST_TIMEOUT_MS = 5_000
SMALL_BUFFER = 3_000

REFUSED: tuple[dict[str, Any], ...] = (
    {"topic": b"bytes"},
    {"topic": ""},
    {"value": "text"},
    {"key": 5},
    {"partition": 99},
    {"partition": 0, "timestamp": -1},
    {"partition": 0, "timestamp": 1.7e9},
    {"headers": [("name",)]},
    {"headers": [("name", "text")]},
    {"value": bytes(2_000_000)},
)
"""Arguments with which a call must be refused."""


@dataclass(slots=True)
class Sent:
    """One record that was accepted."""

    value: bytes
    key: bytes | None
    headers: tuple[Header, ...]
    at: float
    handle: DeliveryBase
    asked: bool
    """True if it has a callback."""
    told_at: list[float]
    """When that was called."""

    def __str__(self) -> str:
        writer, number, _ = self.value.split(b"/")
        return f"record {int(number)} of producer {int(writer)}"

    @property
    def partition(self) -> int:
        return self.handle.completion.partition

    @property
    def size(self) -> int:
        return len(self.value) + len(self.key or b"")


class Writer:
    """One producer, with what a face would add to its core."""

    def __init__(self, sim: Simulation, number: int) -> None:
        self.sim = sim
        self.number = number
        self.sent: list[Sent] = []
        self.done = False
        self.auditable = True
        """True if `sent` has all accepted records and no others."""
        chance = sim.chance
        given = {
            "bootstrap_servers": sim.bootstrap,
            "request_timeout_ms": REQUEST_TIMEOUT_MS,
            **PATIENT,
            "batch_size": 200,
            "linger_ms": chance.choice((0, 5, 100)),
            "buffer_memory": chance.choice((SMALL_BUFFER, 1 << 25)),
            **sim.scenario.producer_options,
        }
        self.options = resolve(ProducerOptions, given)
        self.client = ClusterClient(sim.net, self.options)
        self.core = ProducerCore(self.client, self.options, DeliveryBase)

    async def run(self) -> None:
        sim, scenario = self.sim, self.sim.scenario
        pace = 0.8 * scenario.storm / scenario.records
        for number in range(scenario.records):
            if sim.storming and sim.chance.random() < 0.3:
                await sleep(sim.net, sim.chance.expovariate(0.3 / pace))
            await (self.send_rows(number) if sim.chance.random() < 0.05 else self.send_some(number))
            if sim.chance.random() < 0.05:
                await self.be_refused()
        await sleep(sim.net, max(0.0, scenario.storm - sim.net.now()))
        await sim.timed(self.core.flush(sim.limit), sim.limit)
        assert self.core.counts().queued == 0
        self.done = True
        self.auditable = False
        self.check_room()
        await sim.timed(self.core.lifecycle.close(sim.net.now() + 10), sim.net.now() + 10)
        self.client.close()

    async def send_some(self, number: int) -> None:
        """One record, of one of many kinds."""
        chance = self.sim.chance
        value = b"%d/%d/" % (self.number, number) + bytes(chance.randrange(60))
        kind = chance.randrange(10)
        partition = number % self.sim.scenario.partitions if kind < 7 else None
        key = b"key %d" % chance.randrange(5) if kind in {6, 7} else None
        headers: tuple[Header, ...] = (("name", value),) if kind == 5 and self.sim.cluster.profile.magic == 2 else ()
        told: list[float] = []
        asked = kind % 2 == 1
        on_delivery = (lambda *_: told.append(self.sim.net.now())) if asked else None
        handle = await self.send(value=value, key=key, partition=partition, headers=headers or None, on_delivery=on_delivery)
        self.sent.append(Sent(value, key, headers, self.sim.net.now(), handle, asked, told))

    async def send_rows(self, number: int) -> None:
        """Some records in one call, without keys or all with one each."""
        values = [b"%d/%d/row %d" % (self.number, number, row) for row in range(5)]
        keys = [b"key %d" % row for row in range(5)] if self.sim.chance.random() < 0.5 else None
        self.auditable = False
        runs = await self.core.send_columns(self.sim.topic.name, self.core.columns(values, keys, None, None), None)
        self.auditable = True
        rows = {row: (completion, at + number) for completion, at, rows in runs for number, row in enumerate(rows)}
        for row, (completion, index) in sorted(rows.items()):
            handle = DeliveryBase()
            handle.completion, handle.index = completion, index
            key = None if keys is None else keys[row]
            self.sent.append(Sent(values[row], key, (), self.sim.net.now(), handle, asked=False, told_at=[]))

    async def send(self, **record: Any) -> DeliveryBase:
        """Send a record as a public client does."""
        topic, value, key = record.get("topic", self.sim.topic.name), record.get("value", b""), record.get("key")
        partition, timestamp, headers = record.get("partition"), record.get("timestamp"), record.get("headers")
        on_delivery = record.get("on_delivery")
        handle: DeliveryBase | None = None
        if partition is None and timestamp is None and headers is None and on_delivery is None:
            handle = self.core.accumulator.short_append(topic, value, key)
        if handle is None:
            value, key, headers = self.core.prepare(topic, value, key, partition, timestamp, headers, on_delivery)
            handle = self.core.accumulator.append(topic, value, key, partition, timestamp, headers, on_delivery)
        if handle is None:
            deadline = self.sim.net.now() + self.options["max_block_ms"] / 1000
            sending = self.core.send(topic, value, key, partition, timestamp, headers, on_delivery)
            return cast(DeliveryBase, await self.sim.timed(sending, deadline))
        return handle

    async def be_refused(self) -> None:
        """Make a wrong call. It raises at once, and changes nothing."""
        wrong = self.sim.chance.choice(REFUSED)
        before = self.core.counts().accepted
        try:
            await self.send(**wrong)
        except (KafkaError, TypeError, ValueError):
            assert self.core.counts().accepted == before
        else:
            raise AssertionError(f"{wrong} was not refused")

    def check_room(self) -> None:
        """With nothing queued there is as much room in the buffer as at first."""
        if self.options["buffer_memory"] == SMALL_BUFFER:
            fresh = Accumulator(self.sim.net, self.options, DeliveryBase)
            fresh.topics.add(self.sim.topic.name, self.sim.scenario.partitions, 0)
            expected, found = self._fill(fresh), self._fill(self.core.accumulator)
            assert found == expected, f"{found} records find room in a buffer that had room for {expected}"

    def _fill(self, accumulator: Accumulator) -> int:
        """Number of records of 100 bytes that are accepted without waiting. They are given up at once."""
        accepted = 0
        while accumulator.append(self.sim.topic.name, bytes(100), None, accepted % self.sim.scenario.partitions) is not None:
            accepted += 1
        accumulator.fail_all(ClosedError("only counted"))
        return accepted

"""The accumulator under any order of calls: the books balance, the budget holds, the log has every record once and in order."""

from __future__ import annotations

from collections import Counter, deque
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ProducerOptions, resolve
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.core.produce.batch import Batch, BatchState
from kafkawire.core.produce.columns import Columns
from kafkawire.core.produce.sequences import NO_SEQUENCE, advance
from kafkawire.errors import ClosedError, DeliveryTimedOut, KafkaError
from tests.sim.driver import SimNet

NODE = 1
BUDGET = 3_000
IN_FLIGHT = 5
"""Requests that may be in flight, and batches that a broker remembers of a producer."""


class HeldNet(SimNet):
    """A driver whose clock the test holds."""

    def advance(self, seconds: float) -> None:
        self._now += seconds


class Log:
    """A partition's log as a broker keeps it: a batch that it has is not written again, one out of order not at all."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.known: dict[tuple[int, int], deque[tuple[int, int, int]]] = {}
        """(sequence, records, offset) of the last batches of each producer id and epoch."""

    def write(self, batch: Batch) -> int | None:
        """Return the offset of a batch, None if its sequence is out of order."""
        if batch.sequence == NO_SEQUENCE:
            return self._append(batch)
        known = self.known.get(batch.producer)
        if known is None:
            known = self.known[batch.producer] = deque(maxlen=IN_FLIGHT)
        for sequence, count, offset in known:
            if (sequence, count) == (batch.sequence, batch.count):
                return offset
        if known and advance(known[-1][0], known[-1][1]) != batch.sequence:
            return None
        known.append((batch.sequence, batch.count, self._append(batch)))
        return known[-1][2]

    def _append(self, batch: Batch) -> int:
        offset = len(self.values)
        self.values += [value or b"" for value in batch.values]
        return offset


class Machine(RuleBasedStateMachine):
    """A sender that is as simple as can be, and brokers that answer what they like."""

    @initialize(
        linger=st.sampled_from([0, 100]),
        numbered=st.booleans(),
        partitions=st.integers(1, 3),
        batch_size=st.sampled_from([1, 300]),
    )
    def begin(self, linger: int, numbered: bool, partitions: int, batch_size: int) -> None:
        self.net = HeldNet(0)
        options = resolve(
            ProducerOptions,
            {"linger_ms": linger, "batch_size": batch_size, "buffer_memory": BUDGET, "delivery_timeout_ms": 10_000},
        )
        self.accumulator = Accumulator(self.net, options, DeliveryBase)
        self.accumulator.topics.add("t", partitions, 0)
        self.numbered = numbered
        self.producer = (7, 0)
        self.renewing = False
        self.logs = [Log() for _ in range(partitions)]
        self.old_values: list[bytes] = []
        """What was in the logs of topics that are gone."""
        self.wire: list[Batch] = []
        """Batches in flight, in the order in which brokers get them."""
        self.stale: set[Batch] = set()
        """Batches in flight to a log that is gone."""
        self.may_be_twice: set[bytes] = set()
        """Records that may have been written before sequences began anew."""
        self.maybe_written: set[bytes] = set()
        self.handles: dict[bytes, DeliveryBase] = {}
        self.acknowledged = 0
        self.failed = 0
        self.closed = False

    # ---- users

    @precondition(lambda self: not self.closed)
    @rule(
        sizes=st.lists(st.integers(0, 150), min_size=1, max_size=6),
        key=st.sampled_from([None, b"a", b"b", b"c"]),
        explicit=st.booleans(),
        short=st.booleans(),
    )
    def append(self, sizes: list[int], key: bytes | None, explicit: bool, short: bool) -> None:
        for size in sizes:
            value = b"%06d" % len(self.handles) + bytes(size)
            partition = size % len(self.logs) if explicit else None
            handle = self.accumulator.short_append("t", value, key) if short and partition is None else None
            if handle is None:
                handle = self.accumulator.append("t", value, key, partition)
            if handle is not None:
                self.handles[value] = handle

    @precondition(lambda self: not self.closed)
    @rule(rows=st.integers(1, 8))
    def append_rows(self, rows: int) -> None:
        values = [b"%06d" % (len(self.handles) + row) for row in range(rows)]
        run = self.accumulator.append_columns("t", Columns(values), 0, None)
        for index, value in enumerate(values[: run.end] if run is not None else []):
            assert run is not None
            handle = self.handles[value] = DeliveryBase()
            handle.completion, handle.index = run.completion, run.at + index

    @rule(seconds=st.sampled_from([0.05, 0.1, 0.2]))
    def time_passes(self, seconds: float) -> None:
        self.net.advance(seconds)

    @precondition(lambda self: self.wire)
    @rule()
    def brokers_are_silent(self) -> None:
        self.net.advance(6.0)

    @rule()
    def flush_begins(self) -> None:
        self.accumulator.start_flush(self)

    @rule()
    def flush_ends(self) -> None:
        self.accumulator.end_flush(self)

    # ---- the cluster

    @precondition(lambda self: len(self.logs) < 5)
    @rule()
    def topic_grows(self) -> None:
        self.logs.append(Log())
        self.accumulator.topics.grow("t", len(self.logs))

    @rule()
    def topic_is_created_again(self) -> None:
        for index, log in enumerate(self.logs):
            self.old_values += log.values
            self.logs[index] = Log()
        self.stale.update(self.wire)
        self.may_be_twice |= self.maybe_written
        self.accumulator.topics.replace_logs("t")

    # ---- the sender

    @rule(steps=st.integers(1, IN_FLIGHT))
    def drain(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        if self.renewing and not self.wire:
            self.renewing = False
            self.producer = (self.producer[0] + 1, 0)
            self.may_be_twice |= self.maybe_written
            self.accumulator.topics.restart_sequences()
        room = {NODE: 1_000} if len(self.wire) < IN_FLIGHT and not self.renewing else {}
        drained = self.accumulator.drain(self.net.now(), room, lambda *_: NODE)
        for batch in drained.expired:
            self.fail(batch)
        for batch in drained.taken.get(NODE, ()):
            if self.numbered:
                self.accumulator.topics.assign_sequence(batch, self.producer)
            self.wire.append(batch)

    @precondition(lambda self: self.wire)
    @rule(
        data=st.data(),
        outcome=st.sampled_from(["written", "written", "written", "answer lost", "request lost", "too large", "refused"]),
    )
    def answer(self, data: st.DataObject, outcome: str) -> None:
        """One of the partitions answers its oldest request."""
        first = {batch.partition: batch for batch in reversed(self.wire)}
        batch = data.draw(st.sampled_from(sorted(first.values(), key=lambda batch: batch.partition)))
        self.wire.remove(batch)
        if batch in self.stale:
            self.stale.discard(batch)
            self.retry(batch)
        elif outcome == "request lost":
            self.retry(batch)
        elif outcome == "too large" and batch.count > 1:
            self.accumulator.split(batch)
        elif outcome == "refused":
            self.fail(batch)
        else:
            self.write(batch, answered=outcome != "answer lost")

    def write(self, batch: Batch, *, answered: bool) -> None:
        values = {value or b"" for value in batch.values}
        offset = self.logs[batch.partition].write(batch)
        if offset is None:
            lost = batch.attempts > 0 and self.accumulator.topics.is_oldest(batch)
            assert not lost or self.renewing, f"{batch} can never be written"
            self.retry(batch)
        elif answered:
            self.maybe_written -= values
            self.acknowledged += batch.count
            self.accumulator.acknowledge(batch, offset)
        else:
            self.maybe_written |= values
            self.retry(batch)

    def retry(self, batch: Batch) -> None:
        batch.note_failure(KafkaError("try again"))
        if batch.expires > self.net.now():
            self.accumulator.retry(batch, self.net.now() + 0.1)
        else:
            self.fail(batch)

    def fail(self, batch: Batch) -> None:
        self.renewing = self.renewing or batch.sequence != NO_SEQUENCE
        self.failed += batch.count
        self.accumulator.fail(batch, DeliveryTimedOut("given up"))

    @precondition(lambda self: not self.closed and len(self.handles) > 60)
    @rule()
    def close(self) -> None:
        self.closed = True
        self.accumulator.close(ClosedError("closed"))
        assert self.accumulator.short_append("t", b"v", None) is None
        with pytest.raises(ClosedError):
            self.accumulator.append("t", b"v")

    # ---- what always holds

    @invariant()
    def books_balance(self) -> None:
        if not hasattr(self, "accumulator"):
            return
        accepted = len(self.handles)
        queued = accepted - self.acknowledged - self.failed
        assert self.accumulator.counts() == (accepted, self.acknowledged, self.failed, queued)
        # A handle waits for the whole batch that its record was in, also where one half of that has ended.
        assert sum(handle.done() for handle in self.handles.values()) <= self.acknowledged + self.failed

    @invariant()
    def budget_holds(self) -> None:
        batches = [batch for queue in self.queues() for batch in queue.batches()]
        free = self.accumulator._free  # noqa: SLF001 - what leaks shows nowhere else before the buffer is gone
        assert free >= 0
        assert free + sum(batch.granted for batch in batches) == BUDGET

    @invariant()
    def batches_are_where_their_state_says(self) -> None:
        for queue in self.queues():
            assert all(batch.state is BatchState.IN_FLIGHT for batch in queue.in_flight)
            assert all(batch.state is BatchState.READY for batch in queue.ready)
            orders = [batch.order for batch in queue.ready]
            assert orders == sorted(orders)
            assert queue.open.partition == -1 or queue.open.state is BatchState.OPEN

    @invariant()
    def sequences_have_no_gap(self) -> None:
        for queue in self.queues():
            numbered = sorted((b for b in queue.batches() if b.sequence != NO_SEQUENCE), key=lambda batch: batch.order)
            for batch, following in pairwise(numbered):
                if not self.renewing:
                    assert following.sequence == advance(batch.sequence, batch.count)

    def queues(self) -> list[Any]:
        topic = self.accumulator.topics.get("t") if hasattr(self, "accumulator") else None
        return [] if topic is None else topic.queues

    def error_of(self, handle: DeliveryBase) -> KafkaError | None:
        try:
            handle.completion.result(handle.index)
        except KafkaError as error:
            return error
        return None

    def teardown(self) -> None:
        """Brokers do what they should: everything ends, and the logs have what was acknowledged."""
        if not hasattr(self, "accumulator"):
            return
        if not self.closed:
            self.close()
        for _ in range(1_000):
            self.step()
            for batch in list(self.wire):
                self.wire.remove(batch)
                if batch in self.stale:
                    self.stale.discard(batch)
                    self.retry(batch)
                else:
                    self.write(batch, answered=True)
            if self.accumulator.counts().queued == 0:
                break
            self.net.advance(0.2)
        assert self.accumulator.drain(self.net.now(), {}, lambda *_: NODE).finished
        self.books_balance()
        assert all(handle.done() for handle in self.handles.values())
        assert self.accumulator._free == BUDGET  # noqa: SLF001 - as above
        self.check_logs()

    def check_logs(self) -> None:
        written = Counter(value for log in self.logs for value in log.values) + Counter(self.old_values)
        for value, handle in self.handles.items():
            if self.error_of(handle) is None:
                place = handle.completion.result(handle.index)
                assert written[value] >= 1
                assert value in self.old_values or self.logs[place.partition].values[place.offset or 0] == value
            if self.numbered and value not in self.may_be_twice:
                assert written[value] <= 1, f"{value!r} was written twice"
        if self.numbered:
            for log in self.logs:
                first = list(dict.fromkeys(value for value in log.values if value not in self.may_be_twice))
                assert first == sorted(first), "records have changed their order"


TestAccumulator = Machine.TestCase
TestAccumulator.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)

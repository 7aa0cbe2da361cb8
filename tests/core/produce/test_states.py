"""State machines of producing: which transitions there are, and that any other raises."""

from __future__ import annotations

import pytest

from kafkawire.core.produce.batch import Batch, BatchState
from kafkawire.core.produce.deliveries import BatchCompletion
from kafkawire.core.produce.losses import Losses
from kafkawire.core.produce.partition_queue import CLOSED, PartitionQueue, QueueState
from kafkawire.core.states import InvalidTransitionError
from kafkawire.errors import KafkaError
from kafkawire.message import RecordMetadata
from tests.sim.driver import SimNet

NODE = 1


def state_of(machine: Batch | PartitionQueue) -> object:
    return machine.state


def new_batch(number: int = 1, records: int = 1) -> Batch:
    net = SimNet(0)
    batch = Batch(BatchCompletion(net, net.lock(), "t", 0), (number, 0), 0.0, 0.0, 1.0, 1_000)
    batch.put([b"v"] * records, None, None, 30 * records)
    return batch


def ready(queue: PartitionQueue, number: int, records: int = 1) -> Batch:
    batch = new_batch(number, records)
    queue.open_batch(batch)
    queue.close_batch(expires=10.0)
    return batch


def test_a_batch_goes_from_new_to_acknowledged():
    queue = PartitionQueue("t", 0)
    batch = new_batch()
    assert state_of(batch) is BatchState.NEW
    queue.open_batch(batch)
    assert (queue.open, batch.state) == (batch, BatchState.OPEN)
    assert queue.close_batch(expires=10.0) == 970
    assert (queue.open, batch.state, batch.room) == (CLOSED, BatchState.READY, 0)
    assert queue.take(NODE) is batch
    assert state_of(batch) is BatchState.IN_FLIGHT
    queue.acknowledge(batch)
    batch.acknowledge(17, -1)
    assert (batch.state, batch.completion.done, queue.empty) == (BatchState.ACKNOWLEDGED, True, True)
    assert batch.completion.result(0) == RecordMetadata("t", 0, 17, 0)


def test_an_invalid_transition_of_a_batch_raises_and_changes_nothing():
    batch = new_batch()
    batch.open()
    for invalid in (batch.open, batch.take, batch.split, lambda: batch.acknowledge(0, -1)):
        with pytest.raises(InvalidTransitionError, match="no transition from OPEN"):
            invalid()
    assert (batch.state, batch.count, batch.completion.done) == (BatchState.OPEN, 1, False)


def test_a_batch_that_was_split_is_done_when_both_halves_are():
    queue = PartitionQueue("t", 0)
    whole = ready(queue, 1, records=5)
    queue.assign_sequence(whole, (7, 0))
    queue.take(NODE)
    queue.split(whole)
    first, second = queue.ready
    assert (first.count, first.sequence, second.count, second.sequence) == (2, 0, 3, 2)
    assert (whole.state, first.state, second.state) == (BatchState.SPLIT, BatchState.READY, BatchState.READY)
    for half in (first, second):
        assert not whole.completion.done
        queue.take(NODE)
        queue.acknowledge(half)
        half.acknowledge(half.sequence, -1)
    assert whole.completion.done
    assert [whole.completion.result(index).offset for index in range(5)] == [0, 1, 2, 3, 4]


def test_one_half_can_fail_while_the_other_is_written():
    queue = PartitionQueue("t", 0)
    whole = ready(queue, 1, records=2)
    queue.take(NODE)
    queue.split(whole)
    first, second = queue.take(NODE), queue.take(NODE)
    first.acknowledge(0, -1)
    net = SimNet(0)
    second.fail(KafkaError("refused"), Losses(net.lock()).add("t", 1, set(), KafkaError("refused"), 0.0))
    assert whole.completion.done
    assert whole.completion.may_have_failures
    assert whole.completion.result(0).offset == 0
    with pytest.raises(KafkaError, match="refused"):
        whole.completion.result(1)


def test_a_queue_is_pipelined_once_a_batch_is_acknowledged_and_recovers_after_a_failure():
    queue = PartitionQueue("t", 0)
    batches = [ready(queue, number) for number in range(1, 5)]
    assert state_of(queue) is QueueState.STARTING
    queue.acknowledge(queue.take(NODE))
    assert state_of(queue) is QueueState.PIPELINED
    queue.take(NODE), queue.take(NODE)
    queue.retry(batches[1], at=3.0)
    assert state_of(queue) is QueueState.RECOVERING
    assert queue.ready_at(NODE, hurry=True) == float("inf")
    queue.acknowledge(batches[2])
    assert state_of(queue) is QueueState.PIPELINED
    assert (queue.head(), queue.ready_at(NODE, hurry=False)) == (batches[1], 3.0)


def test_asking_when_the_next_batch_leaves_changes_nothing():
    queue = PartitionQueue("t", 0)
    batch = ready(queue, 1)
    ready(queue, 2)
    queue.acknowledge(queue.take(NODE))
    ready(queue, 3)
    queue.take(NODE)
    other = queue.take(NODE)
    queue.retry(other, at=3.0)
    before = (queue.state, list(queue.ready), list(queue.in_flight))
    for leader in (NODE, 2, None):
        queue.ready_at(leader, hurry=True)
    assert (queue.state, list(queue.ready), list(queue.in_flight)) == before
    assert batch not in queue.batches()


def test_a_new_log_gets_nothing_before_those_in_flight_are_back_and_then_one_batch_alone():
    queue = PartitionQueue("t", 0)
    batches = [ready(queue, number) for number in range(1, 5)]
    queue.acknowledge(queue.take(NODE))
    queue.take(NODE), queue.take(NODE)
    queue.replace_log()
    assert state_of(queue) is QueueState.RESTARTING
    queue.acknowledge(batches[1])
    assert state_of(queue) is QueueState.RESTARTING  # that was the old log
    queue.acknowledge(batches[2])
    assert state_of(queue) is QueueState.STARTING

"""What must hold: during a run, of producers' counts; after it, of the logs and of what was read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafkawire.core.deliveries import tell
from kafkawire.errors import DeliveryTimedOut
from kafkawire.message import Message
from kafkawire.protocol import records
from mockbroker.topics import Partition, Topic

if TYPE_CHECKING:
    from tests.sim.producing import Sent, Writer
    from tests.sim.simulation import Simulation

__all__ = ["check_balance", "check_logs", "check_reading"]

Logs = Mapping[int, Sequence[Message]]
"""The messages of each partition."""

PROMPTLY = 1.0
"""Seconds after its time within which a record is given up."""


def check_balance(writer: Writer) -> None:
    """Counts agree with each other and with what was accepted, and what is queued keeps to the budget."""
    if writer.done:
        return
    counts = writer.core.counts()
    queued = [sent for sent in writer.sent if not sent.handle.done()]
    assert counts.accepted == len(writer.sent) == counts.acknowledged + counts.failed + counts.queued, counts
    assert counts.queued == len(queued), counts
    budget = writer.options["buffer_memory"]
    assert sum(sent.size for sent in queued) <= budget


def check_logs(sim: Simulation) -> None:
    """Every acknowledged record is in the log, once and in order, where its producer was told."""
    lives = [log_of(topic) for topic in sim.lives]
    for writer in sim.writers:
        written = [sent for sent in writer.sent if was_written(sim, sent)]
        for sent in written:
            check_place(lives, sent)
        for logs in lives:
            check_order(logs, writer.sent, repeats=sim.scenario.repeats)


def check_reading(sim: Simulation, read: Logs) -> None:
    """A consumer has read what is in the log, once and in order."""
    lives = [log_of(topic) for topic in sim.lives]
    for partition in {index for logs in (*lives, read) for index in logs}:
        logs = [life.get(partition, []) for life in lives]
        found = read.get(partition, [])
        assert follows(found, logs), f"partition {partition}: {difference(found, logs[-1])}"


def log_of(topic: Topic) -> dict[int, list[Message]]:
    return {partition.index: messages_in(partition) for partition in topic.partitions}


def messages_in(partition: Partition) -> list[Message]:
    found: list[Message] = []
    for batch in partition.log.batches(0):
        columns = records.decode_columns(list(records.read_batches(batch.data)))
        found += records.messages(columns, partition.topic.name, partition.index)
    return found


def was_written(sim: Simulation, sent: Sent) -> bool:
    """Whether a record was acknowledged. One that was not was given up for a good reason, at the right time."""
    assert sent.handle.done()
    assert len(sent.told_at) <= 1
    try:
        tell(sent.handle.batch, sent.handle.index)
    except DeliveryTimedOut:
        if not sim.scenario.gives_up:
            raise
        return False
    return True


def check_place(lives: Sequence[Logs], sent: Sent) -> None:
    place = tell(sent.handle.batch, sent.handle.index)
    there = [
        message
        for logs in lives
        for message in logs.get(place.partition, [])
        if message.value == sent.value and place.offset in {None, message.offset}
    ]
    assert there, f"{sent.value!r} was acknowledged and is not at {place}"
    assert any((found.key, found.headers) == (sent.key, sent.headers) for found in there), f"{there}, not {sent}"
    # A broker that has the batch from an earlier attempt answers with the time of its last record, for whichever it is.
    assert sent.handle.batch.attempts or any(found.timestamp == place.timestamp for found in there), f"{there}, not {place}"


def check_order(logs: Logs, sent: Sequence[Sent], *, repeats: bool) -> None:
    order: dict[int, list[bytes]] = defaultdict(list)
    for one in sent:
        order[one.partition].append(one.value)
    ours = {one.value for one in sent}
    for partition, messages in logs.items():
        values = [message.value for message in messages if message.value in ours]
        first = list(dict.fromkeys(values))
        if not repeats:
            assert len(first) == len(values), f"written twice: {[v for v, n in Counter(values).items() if n > 1]}"
        present = set(first)
        assert first == [value for value in order[partition] if value in present], f"partition {partition}: out of order"


def follows(read: Sequence[Message], logs: Sequence[Sequence[Message]]) -> bool:
    """Whether all of the last log was read, and before it some of the beginning of each of those before."""
    if len(logs) == 1:
        return [plain(message) for message in read] == [plain(message) for message in logs[0]]
    common = 0
    while common < min(len(read), len(logs[0])) and plain(read[common]) == plain(logs[0][common]):
        common += 1
    return any(follows(read[count:], logs[1:]) for count in range(common + 1))


def plain(message: Message) -> tuple[object, ...]:
    return message.offset, message.key, message.value, message.headers, message.timestamp


def difference(read: Sequence[Message], log: Sequence[Message]) -> str:
    """The first place where they part."""
    for index, message in enumerate(read):
        if index >= len(log) or plain(message) != plain(log[index]):
            return f"{message} was read as number {index}, the log has {log[index : index + 1]}"
    return f"{len(read)} messages were read of {len(log)}"

"""Invariants: of the producers' counts during a run, of the logs and of the records read after it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafkawire.errors import DeliveryTimedOut, KafkaError
from kafkawire.message import Message
from kafkawire.protocol import records
from mockbroker.state.topics import Partition, Topic
from tests.sim.answers import DATA

if TYPE_CHECKING:
    from tests.sim.consuming import Reader
    from tests.sim.producing import Sent, Writer
    from tests.sim.simulation import Simulation

__all__ = ["check_balance", "check_logs", "check_pauses", "check_promptness", "check_reading"]

Logs = Mapping[int, Sequence[Message]]
"""The messages of each partition."""

PROMPTLY = 1.0
"""Seconds within which what is due happens: the longest way of an answer is far shorter."""

ROUNDING = 1e-6
"""Seconds by which sums of times may be wrong."""

SETTLED = 2.0
"""Seconds after which everybody is connected, where nothing is wrong."""

LONGEST_PAUSE = 10.0
"""Seconds of the longest pause that clients must keep."""


def check_balance(writer: Writer) -> None:
    """Counts agree with each other and with what was accepted, and what is queued keeps to the budget."""
    if not writer.auditable:
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
        for sent in writer.sent:
            error = failure(sent)
            check_told(writer, sent, error)
            if error is None:
                check_place(lives, sent)
            elif not (sim.scenario.gives_up and isinstance(error, DeliveryTimedOut)):
                raise error
        for logs in lives:
            check_order(logs, writer.sent, repeats=sim.scenario.repeats)


def check_reading(sim: Simulation, reader: Reader) -> None:
    """A consumer has read what is in the log, once and in order, and has told of topics that were deleted meanwhile."""
    lives = [log_of(topic) for topic in sim.lives]
    for partition in {index for logs in (*lives, reader.read) for index in logs}:
        logs = [life.get(partition, []) for life in lives]
        read = reader.read.get(partition, [])
        assert follows(read, logs), f"partition {partition}: {difference(read, logs[-1])}"
        assert len(read) == len(logs[-1]) or reader.resets[partition], "nothing was said of a topic that was deleted"


def check_promptness(sim: Simulation) -> None:
    """Once everybody has found the cluster, records are acknowledged and read soon after they were sent."""
    for writer in sim.writers:
        for sent in writer.sent:
            if sent.at > SETTLED:
                assert all(told - sent.at < PROMPTLY for told in sent.told_at), f"{sent} was acknowledged late"
                late = max(reader.read_at[sent.value] for reader in sim.readers) - sent.at
                assert late < 2 * PROMPTLY, f"{sent} was read {late} s after it was sent"


def check_pauses(sim: Simulation) -> None:
    """Clients keep the pauses that brokers ask for; of very long ones they may think otherwise."""
    asked: dict[int, tuple[float, float]] = {}
    for exchange in sim.server.journal.requests(DATA):
        number = exchange.client.connection
        told, until = asked.get(number, (0.0, 0.0))
        assert not told + PROMPTLY < exchange.time < until, f"{exchange} came {until - exchange.time} s too early"
        pause = getattr(exchange.response, "throttle_time_ms", 0) / 1000
        if exchange.response_time is not None and PROMPTLY < pause <= LONGEST_PAUSE:
            asked[number] = exchange.response_time, exchange.response_time + pause


def log_of(topic: Topic) -> dict[int, list[Message]]:
    return {partition.index: messages_in(partition) for partition in topic.partitions}


def messages_in(partition: Partition) -> list[Message]:
    found: list[Message] = []
    for batch in partition.log.batches(0):
        columns = records.decode_columns(list(records.read_batches(batch.data)))
        found += records.messages(columns, partition.topic.name, partition.index)
    return found


def failure(sent: Sent) -> KafkaError | None:
    """Why a record was given up; None if it was written."""
    assert sent.handle.done()
    try:
        sent.handle.completion.result(sent.handle.index)
    except KafkaError as error:
        return error
    return None


def check_told(writer: Writer, sent: Sent, error: KafkaError | None) -> None:
    """A callback is called once and in time; it tells of a record that has expired no sooner than that."""
    assert len(sent.told_at) == sent.asked
    timeout = writer.options["delivery_timeout_ms"] / 1000
    for told in sent.told_at:
        assert told - sent.at < 1.05 * timeout + PROMPTLY, f"{sent} was told of after {told - sent.at} s"
        if isinstance(error, DeliveryTimedOut):
            assert told - sent.at > timeout - ROUNDING, f"{sent} was given up after {told - sent.at} s"


def check_place(lives: Sequence[Logs], sent: Sent) -> None:
    place = sent.handle.completion.result(sent.handle.index)
    there = [
        message
        for logs in lives
        for message in logs.get(place.partition, [])
        if message.value == sent.value and place.offset in {None, message.offset}
    ]
    assert there, f"{sent} was acknowledged and is not at {place}"
    assert any((found.key, found.headers) == (sent.key, sent.headers) for found in there), f"{there}, not {sent}"
    # A broker that has the batch from an earlier attempt answers with the time of its last record, for whichever it is.
    retried = sent.handle.completion.cause is not None
    assert retried or any(found.timestamp == place.timestamp for found in there), f"{there}, not {place}"


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
    """True if all of the last log was read, and before it a beginning of each earlier log."""
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

"""send_many() and send_arrow(): whole columns at a time, against produce() of single records and of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bench import send
from bench.harness import Contender, Job, Row, Sample, Stopwatch, Topic, load_accelerators, values_of
from bench.settings import ROWS_PER_CALL, producer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ROWS"]

Slice = TypeVar("Slice")


def kafkawire_columns(job: Job) -> Sample:
    return _kafkawire(job, "send_many", list)


def kafkawire_arrow(job: Job) -> Sample:
    import pyarrow as pa

    return _kafkawire(job, "send_arrow", lambda values: pa.record_batch({"value": pa.array(values, pa.binary())}))


def confluent_lists(job: Job) -> Sample:
    from confluent_kafka import Producer

    client = Producer(producer("confluent-kafka", job))
    slices = _slices(job, lambda values: [{"value": value} for value in values])
    client.produce(job.topic, bytes(job.size))
    client.flush()
    watch = Stopwatch()
    for messages in slices:
        client.produce_batch(job.topic, messages)
    client.flush()
    return Sample(job.count, watch.read())


def _kafkawire(job: Job, method: str, make: Callable[[Sequence[bytes]], object]) -> Sample:
    from kafkawire import Producer

    load_accelerators()
    slices = _slices(job, make)
    with Producer(**producer("kafkawire", job)) as client:
        send_slice = getattr(client, method)
        client.send(job.topic, bytes(job.size))
        client.flush()
        watch = Stopwatch()
        for each in slices:
            send_slice(job.topic, each)
        client.flush()
        return Sample(job.count, watch.read())


def _slices(job: Job, make: Callable[[Sequence[bytes]], Slice]) -> list[Slice]:
    """The values in the form that the user is supposed to have them in, made before the clock runs."""
    values = values_of(job)
    return [make(values[at : at + ROWS_PER_CALL]) for at in range(0, len(values), ROWS_PER_CALL)]


def _row(name: str, run: Callable[[Job], Sample], aim: float) -> Row:
    peers = [
        Contender("confluent-kafka produce()", send.confluent, "confluent_kafka", aim=aim),
        Contender("confluent-kafka produce_batch()", confluent_lists, "confluent_kafka"),
    ]
    return Row(name, f"{name}(), 100 B", Job(1_000_000, 100), [Contender("kafkawire", run), *peers], Topic.EMPTY)


ROWS = [_row("send_many", kafkawire_columns, 1.5), _row("send_arrow", kafkawire_arrow, 2)]

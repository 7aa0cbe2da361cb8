"""poll_arrow() to a pyarrow.RecordBatch: from making the client to the last value in hand."""

from __future__ import annotations

from bench import poll
from bench.harness import Contender, Job, Row, Sample, Stopwatch, Topic, load_accelerators
from bench.settings import consumer

__all__ = ["ROWS", "kafkawire"]


def kafkawire(job: Job) -> Sample:
    import pyarrow as pa
    from pyarrow import compute

    from kafkawire import Consumer

    load_accelerators()
    pa.scalar(0)  # imports pandas, where it is installed, the first time
    watch = Stopwatch()
    count = read = 0
    with Consumer(**consumer("kafkawire", job)) as client:
        client.assign([(job.topic, partition) for partition in range(job.partitions)])
        while count < job.count:
            batch = client.poll_arrow(timeout=1)
            read += compute.sum(compute.binary_length(batch["value"])).as_py() or 0
            count += batch.num_rows
        return poll.finished(job, count, read, watch)


def _row(job: Job, goal: float, aim: float) -> Row:
    peer = Contender("confluent-kafka", poll.confluent, "confluent_kafka", goal=goal, aim=aim)
    contenders = [Contender("kafkawire", kafkawire, "pyarrow"), peer]
    return Row("poll_arrow", f"poll_arrow(), {job.size} B", job, contenders, Topic.FILLED)


ROWS = [_row(poll.SMALL, 2.5, 4), _row(poll.LARGE, 1.0, 1.5)]

"""Time before a program's first record: the import of a client."""

from __future__ import annotations

import subprocess
import sys

from bench.harness import Contender, Job, Row, Sample

__all__ = ["ROWS"]

TIMED_IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_kafkawire(job: Job) -> Sample:
    return _imports("kafkawire", job)


def import_confluent(job: Job) -> Sample:
    return _imports("confluent_kafka", job)


def import_kafka_python(job: Job) -> Sample:
    return _imports("kafka", job)


def import_aiokafka(job: Job) -> Sample:
    return _imports("aiokafka", job)


def _imports(module: str, job: Job) -> Sample:
    """Each in a process of its own, since this one has imported much of the standard library."""
    command = [sys.executable, "-c", TIMED_IMPORT.format(module)]
    return Sample(job.count, sum(float(subprocess.check_output(command)) for _ in range(job.count)))


ROWS = [
    Row(
        "import",
        "import of the client",
        Job(5),
        [
            Contender("kafkawire", import_kafkawire, goal=0.060, aim=0.060),
            Contender("confluent-kafka", import_confluent, "confluent_kafka"),
            Contender("kafka-python", import_kafka_python, "kafka"),
            Contender("aiokafka", import_aiokafka, "aiokafka"),
        ],
        rate=False,
    ),
]

"""The settings of every client, the best that its documentation and our measurements give. All others are its defaults."""

from __future__ import annotations

from typing import Any

from bench.harness import Job

__all__ = ["CONSUMERS", "POLL_RECORDS", "PRODUCERS", "ROWS_PER_CALL", "SPARK", "consumer", "producer"]

POLL_RECORDS = 10_000
"""Records per call of consume(), poll() and getmany()."""
ROWS_PER_CALL = 50_000
"""Records per call of send_many(), send_arrow() and produce_batch()."""

PRODUCERS: dict[str, dict[str, Any]] = {
    # All are its defaults. librdkafka may have 2 GB of records waiting, which is more than a run sends; kafkawire's send()
    # blocks at 32 MiB.
    "kafkawire": {"linger_ms": 5, "batch_size": 1_000_000, "buffer_memory": 32 << 20},
    "confluent-kafka": {
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "queue.buffering.max.messages": 2_000_000,
        "queue.buffering.max.kbytes": 2_000_000,
    },
    "kafka-python": {"linger_ms": 5, "batch_size": 1_000_000},
    "aiokafka": {"linger_ms": 5, "max_batch_size": 262_144},  # quicker than with 16 kB and with 1 MB
}

CONSUMERS: dict[str, dict[str, Any]] = {
    "kafkawire": {"auto_offset_reset": "earliest", "max_partition_fetch_bytes": 4 << 20},
    "confluent-kafka": {
        "group.id": "bench",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.max.bytes": 50_000_000,
        "max.partition.fetch.bytes": 10_000_000,
        "queued.min.messages": 1_000_000,  # without this and the next it is half as fast
        "queued.max.messages.kbytes": 400_000,
        "fetch.wait.max.ms": 50,
    },
    # These two are no quicker with larger fetches than their 50 MB, 1 MB a partition.
    "kafka-python": {
        "group_id": None,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    },
    "aiokafka": {
        "group_id": None,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    },
}

SPARK: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}


def producer(client: str, job: Job) -> dict[str, Any]:
    """A client's settings for a job; acks and idempotence are the same for all."""
    dotted = client == "confluent-kafka"
    acks: str | int = "all" if job.idempotent else 1
    own = {"acks": acks, "enable.idempotence" if dotted else "enable_idempotence": job.idempotent}
    servers = {"bootstrap.servers" if dotted else "bootstrap_servers": job.bootstrap}
    # Only librdkafka has another partitioner by default; this one hashes keys as all the others do.
    partitioner = {"partitioner": "murmur2_random"} if dotted and job.keyed else {}
    return {**PRODUCERS[client], **own, **servers, **partitioner}


def consumer(client: str, job: Job) -> dict[str, Any]:
    dotted = client == "confluent-kafka"
    return {**CONSUMERS[client], "bootstrap.servers" if dotted else "bootstrap_servers": job.bootstrap}

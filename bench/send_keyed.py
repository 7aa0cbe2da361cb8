"""send() with keys of 8 bytes, 10,000 different ones, hashed by murmur2 to 4 partitions."""

from __future__ import annotations

from bench.harness import Contender, Job, Row, Topic
from bench.send import confluent, kafkawire

__all__ = ["ROWS"]

ROWS = [
    Row(
        "send_keyed",
        "send() with keys, 100 B",
        Job(1_000_000, 100, keyed=True),
        [Contender("kafkawire", kafkawire), Contender("confluent-kafka", confluent, "confluent_kafka", aim=0.8)],
        Topic.EMPTY,
    )
]

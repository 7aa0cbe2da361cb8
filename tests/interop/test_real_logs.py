"""Logs on a broker's disk after kafkawire wrote, read by the broker's own tool DumpLogSegments, once for each broker."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from kafkawire import Producer
from tests.interop.rows import HOUR_AGO, Row, bulk, plain, varied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.real.broker import RealKafka

pytestmark = pytest.mark.real

# Every kind of record, and then so many that a batch has more than one LZ4 block (trap 53).
ROWS = varied() + [Row(value, b"key", HOUR_AGO + number) for number, value in enumerate(bulk(500_000))]


def produce(broker: RealKafka, topic: str, rows: Sequence[Row], codec: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap, compression_type=codec) as producer:
        sent = [producer.send(topic, row.value, row.key, None, row.timestamp, row.headers or None) for row in rows]
    assert [each.result().offset for each in sent] == list(range(len(rows)))


def dump(broker: RealKafka, main: str, topics: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """By topic, the fields of every line that the tool prints about its first segment."""
    files = ",".join(f"data/{topic}-0/{0:020}.log" for topic in topics)
    found = defaultdict(list)
    topic = ""
    for line in broker.run(main, "--deep-iteration", "--files", files).splitlines():
        if line.startswith("Dumping"):
            topic = line.rpartition("/")[0].rpartition("/")[2].removesuffix("-0")
        elif "ffset: " in line and "tarting offset" not in line:
            found[topic].append(dict(re.findall(r"(\w+): (\S+)", line)))
    return found


def size(data: bytes | None) -> str:
    return str(-1 if data is None else len(data))


def test_newest_log(kafka_newest: RealKafka, topic: str) -> None:
    codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
    for codec in codecs:
        produce(kafka_newest, f"{topic}-{codec}", ROWS, codec)
    dumped = dump(kafka_newest, "org.apache.kafka.tools.DumpLogSegments", [f"{topic}-{codec}" for codec in codecs])
    for codec in codecs:
        lines = dumped[f"{topic}-{codec}"]
        batches = [line for line in lines if "baseOffset" in line]
        assert {(batch["isvalid"], batch["magic"], batch["compresscodec"]) for batch in batches} == {("true", "2", codec)}
        assert [
            (line["offset"], line["CreateTime"], line["keySize"], line["valueSize"]) for line in lines if "offset" in line
        ] == [(str(offset), str(row.timestamp), size(row.key), size(row.value)) for offset, row in enumerate(ROWS)]
        # Idempotence is on by default: one producer id, and sequences that count as offsets do in a topic of its own.
        assert len({batch["producerId"] for batch in batches} - {"-1"}) == 1
        assert all(
            (batch["baseSequence"], batch["lastSequence"]) == (batch["baseOffset"], batch["lastOffset"]) for batch in batches
        )


def test_oldest_log(kafka_0822: RealKafka, topic: str) -> None:
    codecs = ["none", "gzip", "snappy", "lz4"]
    rows = plain(ROWS)
    for codec in codecs:
        produce(kafka_0822, f"{topic}-{codec}", rows, codec)
    dumped = dump(kafka_0822, "kafka.tools.DumpLogSegments", [f"{topic}-{codec}" for codec in codecs])
    for codec in codecs:
        lines = dumped[f"{topic}-{codec}"]
        assert {(line["isvalid"], line["magic"]) for line in lines} == {("true", "0")}
        assert [(line["offset"], line.get("keysize", "-1"), line["payloadsize"]) for line in lines] == [
            (str(offset), size(row.key), size(row.value)) for offset, row in enumerate(rows)
        ]

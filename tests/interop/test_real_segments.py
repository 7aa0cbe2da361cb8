"""`kafkawire decode` on the files of a real broker says what the broker's own tool, DumpLogSegments, says of them."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kafkawire import Producer
from kafkawire.cli.app import app
from kafkawire.cli.decode.values import text
from tests import requirements
from tests.interop.rows import plain, varied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real.broker import RealKafka

# kafka-python reads its schemas in a way that Python 3.11 calls deprecated, and leaves its sockets to the collector.
pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings(r"ignore:\w+_text is deprecated:DeprecationWarning"),
]

TIMEOUT_MS = 60_000

BATCH_FIELDS = {
    "baseOffset": "baseOffset",
    "lastOffset": "lastOffset",
    "count": "count",
    "producerId": "producerId",
    "producerEpoch": "producerEpoch",
    "partitionLeaderEpoch": "leaderEpoch",
    "isTransactional": "isTransactional",
    "isControl": "isControl",
    "position": "position",
    "size": "size",
    "magic": "magic",
    "compresscodec": "codec",
    "CreateTime": "maxTimestamp",
}
"""The tool's name of a field -> ours. Sequences differ: Java keeps 0 where a coordinator wrote without a producer id."""


def produced(broker: RealKafka, topic: str) -> None:
    """Every kind of record and every codec, from kafkawire."""
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        with Producer(bootstrap_servers=broker.bootstrap, compression_type=codec) as producer:
            for row in varied():
                producer.send(topic, row.value, row.key, None, row.timestamp, row.headers or None)


def committed(broker: RealKafka, topic: str) -> None:
    """A group of kafka-python that consumes, commits, and leaves."""
    kafka = requirements.peer("kafka")
    consumer = kafka.KafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, group_id=f"group of {topic}", auto_offset_reset="earliest"
    )
    try:
        assert consumer.poll(timeout_ms=TIMEOUT_MS)
        consumer.commit()
    finally:
        consumer.close()


def committed_by_the_new_protocol(broker: RealKafka, topic: str) -> None:
    """A group of KIP-848 that does the same, from librdkafka."""
    confluent_kafka = requirements.peer("confluent_kafka")
    options = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": f"new group of {topic}",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    consumer = confluent_kafka.Consumer(options)
    try:
        consumer.subscribe([topic])
        assert consumer.poll(TIMEOUT_MS / 1000) is not None
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def transacted(broker: RealKafka, topic: str) -> None:
    """A transaction of kafka-python that is committed, and one that is aborted."""
    with transactional(broker, topic) as producer:
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            producer.send(topic, b"value").get(TIMEOUT_MS / 1000)
            end()
    # Markers are written after the answer; a next producer of the same id has to wait for them.
    with transactional(broker, topic):
        pass


@contextmanager
def transactional(broker: RealKafka, topic: str) -> Iterator[Any]:
    kafka = requirements.peer("kafka")
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=f"producer of {topic}")
    try:
        producer.init_transactions()
        yield producer
    finally:
        producer.close()


def dumped(broker: RealKafka, directory: str, *options: str, suffix: str = "log") -> Iterator[str]:
    file = f"data/{directory}/{0:020}.{suffix}"
    arguments = ["--deep-iteration", *options, "--files", file]
    for line in broker.run("org.apache.kafka.tools.DumpLogSegments", *arguments).splitlines():
        if "ffset: " in line and "tarting offset" not in line:
            yield line


def decoded(broker: RealKafka, directory: str, suffix: str = "log") -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["decode", str(broker.log_directory / directory / f"{0:020}.{suffix}")])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_same(ours: list[dict[str, Any]], theirs: list[str]) -> None:
    """Each batch and the offset and time of each record."""
    assert len(ours) == len(theirs)
    for line, shown in zip(ours, theirs, strict=True):
        fields = dict(re.findall(r"(\w+): (\S+)", shown))
        if "batch" in line:
            found = {name: str(line["batch"][name]).lower() for name in BATCH_FIELDS.values()}
            assert found == {ours_: fields[name] for name, ours_ in BATCH_FIELDS.items()}
        else:
            assert (str(line["offset"]), str(line["timestamp"])) == (fields["offset"], fields["CreateTime"])


def assert_contains(ours: Any, theirs: Any) -> None:
    """Check that every field that Kafka shows is shown. Kafka leaves out tagged fields at their defaults."""
    if isinstance(theirs, dict):
        for name, value in theirs.items():
            assert_contains(ours[name], value)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_contains(one, other)
    else:
        assert ours == theirs


def assert_same_coordinator_records(broker: RealKafka, topic: str, decoder: str) -> set[str]:
    """Compare all partitions of an internal topic; the kinds of record that were there."""
    kinds = set()
    for directory in sorted(path.name for path in broker.log_directory.glob(f"{topic}-*")):
        theirs = list(dumped(broker, directory, decoder))
        ours = decoded(broker, directory)[: len(theirs)]  # coordinators may go on writing
        assert_same(ours, theirs)
        for line, shown in zip(ours, theirs, strict=True):
            found = re.search(r" key: (\{.*\}) payload: (.*)$", shown)
            if found is None:
                continue
            kinds.add(line["type"])
            assert_contains(line["key"], json.loads(found[1])["data"])
            if line["value"] is None:
                assert found[2] == "<DELETE>"
            else:
                value = json.loads(found[2])
                assert str(line["version"]) == value["version"]
                assert_contains(line["value"], value["data"])
    return kinds


def test_records(kafka_newest: RealKafka, topic: str) -> None:
    produced(kafka_newest, topic)
    ours = decoded(kafka_newest, f"{topic}-0")
    assert_same(ours, list(dumped(kafka_newest, f"{topic}-0")))
    assert [line["value"] for line in ours if line.get("key") == "tombstone"] == [None] * 5 * 8


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_records_of_the_oldest_format(kafka_0822: RealKafka, topic: str, codec: str) -> None:
    rows = plain(varied())
    with Producer(bootstrap_servers=kafka_0822.bootstrap, compression_type=codec) as producer:
        for row in rows:
            producer.send(topic, row.value, row.key)
    records = [line for line in decoded(kafka_0822, f"{topic}-0") if "batch" not in line]
    assert [(line["offset"], line["key"], line["value"]) for line in records] == [
        (offset, text(row.key), text(row.value)) for offset, row in enumerate(rows)
    ]


def test_control_records(kafka_newest: RealKafka, topic: str) -> None:
    transacted(kafka_newest, topic)
    ours = decoded(kafka_newest, f"{topic}-0")
    theirs = list(dumped(kafka_newest, f"{topic}-0"))
    assert_same(ours, theirs)
    markers = [re.search(r"endTxnMarker: (\w+) coordinatorEpoch: (\d+)", line) for line in theirs]
    assert [(line["control"], line["value"]["coordinatorEpoch"]) for line in ours if "control" in line] == [
        (found[1], int(found[2])) for found in markers if found
    ]
    assert sum(map(bool, markers)) == 2


def test_index_of_aborted_transactions(kafka_newest: RealKafka, topic: str) -> None:
    transacted(kafka_newest, topic)
    ours = decoded(kafka_newest, f"{topic}-0", "txnindex")
    theirs = list(dumped(kafka_newest, f"{topic}-0", suffix="txnindex"))
    assert len(ours) == len(theirs) == 1
    for line, shown in zip(ours, theirs, strict=True):
        found = {"version": line["version"], **line["aborted"]}
        assert {name: str(value) for name, value in found.items()} == dict(re.findall(r"(\w+): (\S+)", shown))


def test_offsets_topic(kafka_newest: RealKafka, topic: str) -> None:
    produced(kafka_newest, topic)
    committed(kafka_newest, topic)
    committed_by_the_new_protocol(kafka_newest, topic)
    kinds = assert_same_coordinator_records(kafka_newest, "__consumer_offsets", "--offsets-decoder")
    assert kinds >= {
        "GroupMetadata",
        "OffsetCommit",
        "ConsumerGroupMetadata",
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupCurrentMemberAssignment",
    }


def test_transactions_topic(kafka_newest: RealKafka, topic: str) -> None:
    transacted(kafka_newest, topic)
    kinds = assert_same_coordinator_records(kafka_newest, "__transaction_state", "--transaction-log-decoder")
    assert kinds == {"TransactionLog"}


def test_metadata_log(kafka_newest: RealKafka) -> None:
    first = next(line for line in decoded(kafka_newest, "__cluster_metadata-0") if "control" in line)
    assert (first["control"], first["value"]["leaderId"]) == ("LEADER_CHANGE", 1)

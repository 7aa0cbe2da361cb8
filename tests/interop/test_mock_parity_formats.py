"""The mock keeps, converts and refuses old record formats as Kafka of the same version does: compared record by record."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from mockbroker import MockCluster
from tests.interop.parity import Broker, differences, request
from tests.mockbroker.raw import batch, fetch_request, fetched, produce_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire.protocol.wire import Buffer
    from tests.real.broker import RealKafka

pytestmark = pytest.mark.real

NOW = 1_700_000_000_000
CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
LIMITS = [(0, 1 << 20), (1, 1 << 20), (4, 1 << 20), (0, 60), (0, 10), (2, 300), (500, 1000)]
"""Offsets with the bytes of a partition."""
PRODUCE, FETCH, LIST_OFFSETS, CREATE_TOPICS = 0, 1, 2, 19
ZSTD_SINCE = 7
NEWEST_BY_NAME = 12
"""Versions of Produce and Fetch without topic ids."""

# The last release that serves all of them, and one whose log has format 1.
RELEASES = {"3.9.1": "3.9", "0.10.2.2": "0.10.2"}


@pytest.mark.parametrize("release", RELEASES)
def test_same_formats(real_kafka: Callable[[str], RealKafka], release: str) -> None:
    real = answers(real_kafka(release).bootstrap)
    with MockCluster(1, version=RELEASES[release]) as mock:
        mocked = answers(mock.bootstrap)
    assert [what for what, _ in mocked] == [what for what, _ in real]
    found = [
        f"{what}: {difference}"
        for (what, expected), (_, answer) in zip(real, mocked, strict=True)
        for difference in differences(expected, answer)
    ]
    assert not found, "\n".join(found)


def answers(bootstrap: str) -> list[tuple[str, Any]]:
    kinds = {
        "plain": {},
        "stamped": {"message.timestamp.type": "LogAppendTime"},
        "compacted": {"cleanup.policy": "compact"},
        "small": {"max.message.bytes": "200"},
    }
    with closing(Broker(bootstrap)) as broker:
        newest = {api.api_key: api.max_version for api in broker.do(request("ApiVersions"), 0).api_keys}
        for kind, configs in kinds.items():
            for codec in CODECS:
                topic = f"formats-{kind}-{codec.name.lower()}"
                create(broker, topic, configs, min(newest[CREATE_TOPICS], 4))
                for version in range(min(newest[PRODUCE], NEWEST_BY_NAME) + 1):
                    produce_good(broker, topic, codec, version)
                fetch(broker, topic, min(newest[FETCH], NEWEST_BY_NAME))
        create(broker, "formats-bad", {}, min(newest[CREATE_TOPICS], 4))
        for version in range(min(newest[PRODUCE], 3) + 1):
            produce_bad(broker, version)
        fetch(broker, "formats-bad", min(newest[FETCH], NEWEST_BY_NAME))
        if newest[PRODUCE] >= ZSTD_SINCE:
            fetch_zstd(broker, min(newest[CREATE_TOPICS], 4), min(newest[FETCH], NEWEST_BY_NAME))
        create(broker, "formats-empty", {}, min(newest[CREATE_TOPICS], 4))
        list_offsets(broker, newest[LIST_OFFSETS])
        return broker.answers


def create(broker: Broker, topic: str, configs: dict[str, str], version: int) -> None:
    settings = [{"name": name, "value": value} for name, value in configs.items()]
    asked = {"name": topic, "numPartitions": 1, "replicationFactor": 1, "configs": settings}
    (made,) = broker.do(request("CreateTopics", topics=[asked], timeoutMs=10_000), version).topics
    assert made.error_code == 0
    broker.wait_for_leaders(topic, 1, version=1)


def produce_good(broker: Broker, topic: str, codec: Codec, version: int) -> None:
    rows = [(b"k" if "compacted" in topic else None, b"a", NOW + 5), (b"k", b"b", NOW + 7), (b"k", None, NOW + 6)]
    if version >= 3:
        keys, values, times = zip(*rows, strict=True)
        parts = records.encode_columns(list(values), list(keys), list(times), base_timestamp=NOW + 5)
        sets: list[Buffer] = [records.seal_batch(parts, count=3, base_timestamp=NOW + 5, max_timestamp=NOW + 7, codec=codec)]
    else:
        sets = [records.encode_message_set(magic, rows, codec=codec) for magic in ((0, 1) if version == 2 else (0,))]
    for data in sets:
        broker.ask(produce_request(data, topic=topic), version)


def produce_bad(broker: Broker, version: int) -> None:
    """Record sets that no producer should send in this version."""
    one, two = (bytes(records.encode_message_set(0, [(None, b"a", 1)] * count)) for count in (1, 2))
    other = bytes(records.encode_message_set(1, [(None, b"a", 1)]))
    damaged = one[:-1] + b"?"
    sets = [damaged, one[:-2], two[:-2], two[: len(one) + 5], b"", one + bytes(4), other, bytes(batch(b"z")), one + other]
    for data in sets:
        broker.ask(produce_request(data, topic="formats-bad"), version)
    broker.ask(produce_request(one, topic="formats-compacted-none"), version)
    for count, size in ((1, 500), (4, 90)):
        large = records.encode_message_set(0, [(None, bytes(size), 1)] * count)
        broker.ask(produce_request(large, topic="formats-small-none"), version)
    packed = records.encode_message_set(0, [(None, bytes(5000), 1)], codec=Codec.GZIP)
    broker.ask(produce_request(packed, topic="formats-small-gzip"), version)


def fetch(broker: Broker, topic: str, newest: int, limits: Iterable[tuple[int, int]] = LIMITS) -> None:
    """Note what is answered in every version; of the records only the first ones, since codecs differ in the last byte."""
    for version in range(newest + 1):
        for offset, size in limits:
            answer = fetched(broker.do(fetch_request(offset, topic=topic, partition_max_bytes=size), version))
            found = (answer.error_code, answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
            told = list(told_of(answer.records, offset, stamped="stamped" in topic))[:20]
            broker.answers.append((f"Fetch v{version} of {topic} from {offset} up to {size}", [*found, *told]))


def told_of(data: Buffer | None, offset: int, *, stamped: bool) -> Iterator[Any]:
    for one in records.read_batches(data or b""):
        for message in records.messages(records.decode_columns([one]), "", 0):
            if message.offset >= offset:
                time = message.timestamp is None if stamped else message.timestamp
                yield one.magic, one.codec, message.offset, time, message.timestamp_type, message.key, message.value


def fetch_zstd(broker: Broker, create_version: int, newest: int) -> None:
    create(broker, "formats-zstd", {}, create_version)
    for codec in (Codec.NONE, Codec.ZSTD, Codec.NONE):
        broker.do(produce_request(batch(b"a", b"b", timestamp=NOW, codec=codec), topic="formats-zstd"), ZSTD_SINCE)
    fetch(broker, "formats-zstd", newest, [(0, 1 << 20), (2, 1 << 20), (4, 1 << 20)])


def list_offsets(broker: Broker, newest: int) -> None:
    for topic in ("formats-plain-gzip", "formats-empty"):
        for timestamp in (*range(-1, -8, -1), 0, NOW + 6, NOW + 8, 2 * NOW):
            for most in (0, 1, 2, 9):
                wanted = {"partitionIndex": 0, "timestamp": timestamp, "maxNumOffsets": most}
                broker.ask(request("ListOffsets", replicaId=-1, topics=[{"name": topic, "partitions": [wanted]}]), 0)
            wanted = {"partitionIndex": 0, "timestamp": timestamp}
            asked = request("ListOffsets", replicaId=-1, topics=[{"name": topic, "partitions": [wanted]}])
            broker.ask(asked, *range(1, newest + 1))

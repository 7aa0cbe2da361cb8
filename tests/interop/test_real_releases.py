"""The releases between the oldest and the newest, one of every era of the protocol: what each can do works, by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire import TopicPartition
from kafkawire.errors import UnsupportedVersionError
from tests.interop.brokers import BEFORE, real_broker
from tests.interop.rows import HOUR_AGO, Row, bulk, plain, read, varied, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.faces import Face
    from tests.real.broker import RealKafka

pytestmark = [pytest.mark.real, pytest.mark.heavy]

# 0.9 never answers ApiVersions, 0.10 and 1.1 refuse the version of today's, later ones do so and name theirs.
RELEASES = ["0.9.0.1", "0.10.2.2", "1.1.1", "2.8.2", "3.9.1", BEFORE]


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A broker that is gone when the next one comes."""
    with real_broker(request.param) as broker:
        yield broker


def options(broker: RealKafka) -> dict:
    """Options of a client, with a shorter wait for ApiVersions if the broker never answers it."""
    return {"bootstrap_servers": broker.bootstrap} | ({} if since(broker, 0, 10) else {"api_version_auto_timeout_ms": 300})


def since(broker: RealKafka, *version: int) -> bool:
    return tuple(map(int, broker.version.split("."))) >= version


def supported(broker: RealKafka) -> list[Row]:
    """The rows that a broker can hold."""
    return varied() if since(broker, 0, 11) else plain(varied(), timestamps=since(broker, 0, 10))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back(face: Face, release: RealKafka, topic: str, codec: str) -> None:
    rows, values = supported(release), bulk(1_500_000)
    with face.producer(**options(release), compression_type=codec) as producer:
        if codec == "zstd" and not since(release, 2, 1):
            with pytest.raises(UnsupportedVersionError, match="zstd"):
                face.result(producer.send(topic, b"value"))
            return
        written = write(face, producer, topic, rows)
        assert [at.timestamp for at in written] == [row.timestamp for row in rows]
        face.result(producer.send_many(topic, values))
        total = len(rows) + len(values)
        assert producer.counts() == (total, total, 0, 0)
    found = read(face, topic, **options(release))
    assert found[: len(rows)] == rows
    assert [row.value for row in found[len(rows) :]] == values


def test_metadata_and_offsets(face: Face, release: RealKafka, topic: str) -> None:
    tp = TopicPartition(topic, 0)
    with face.producer(**options(release)) as producer:
        write(face, producer, topic, [Row(b"value", timestamp=HOUR_AGO + number) for number in range(20)])
    with face.connection(release.bootstrap) as connection:
        assert topic in connection.topics()
        assert [(partition.index, partition.leader) for partition in connection.partitions(topic)] == [(0, 1)]
        assert [f"{broker.host}:{broker.port}" for broker in connection.brokers()] == [release.bootstrap]
    with face.consumer(**options(release)) as consumer:
        assert (consumer.beginning_offsets([tp]), consumer.end_offsets([tp])) == ({tp: 0}, {tp: 20})
        assert [message.offset for message in consumer.fetch(topic, 0, 15)] == [15, 16, 17, 18, 19]
        if since(release, 0, 10, 1):
            assert consumer.offsets_for_times({tp: HOUR_AGO + 7}) == {tp: (7, HOUR_AGO + 7)}
        else:
            with pytest.raises(UnsupportedVersionError, match=r"0\.10\.1"):
                consumer.offsets_for_times({tp: HOUR_AGO + 7})

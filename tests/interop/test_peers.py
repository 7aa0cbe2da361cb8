"""kafkawire and other clients read each other's records, from a mock cluster and from a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import MockCluster
from tests.interop.peers import PEERS, Peer, kafka_python_consume
from tests.interop.rows import HOUR_AGO, Row, bulk, plain, read, varied, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.faces import Face
    from tests.real.broker import RealKafka

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

by_codec = pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])


@pytest.fixture(scope="module", params=["mock", pytest.param("real", marks=pytest.mark.real)])
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """The addresses of a cluster that creates topics that are asked for."""
    if request.param == "mock":
        with MockCluster(3) as mock:
            yield mock.bootstrap
    else:
        yield request.getfixturevalue("kafka_newest").bootstrap


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> Peer:
    return PEERS[request.param]


# Of every kind, and then so many that batches have more than one LZ4 block (trap 53).
ROWS = varied() + [Row(value, str(number).encode(), HOUR_AGO + number) for number, value in enumerate(bulk(500_000))]


@by_codec
def test_peer_reads_what_kafkawire_wrote(face: Face, bootstrap: str, peer: Peer, topic: str, codec: str) -> None:
    with face.producer(bootstrap_servers=bootstrap, compression_type=codec) as producer:
        write(face, producer, topic, ROWS, partition=0)
    assert peer.consume(bootstrap, topic, len(ROWS)) == ROWS


@by_codec
def test_kafkawire_reads_what_peer_wrote(face: Face, bootstrap: str, peer: Peer, topic: str, codec: str) -> None:
    rows = [row for row in ROWS if peer.can_send(row)]
    peer.produce(bootstrap, topic, rows, codec)
    assert read(face, topic, bootstrap_servers=bootstrap) == rows


@pytest.mark.real
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])  # for LZ4 as it was then, kafka-python wants xxhash
def test_peer_reads_what_kafkawire_wrote_to_the_oldest_broker(
    face: Face, kafka_0822: RealKafka, topic: str, codec: str
) -> None:
    rows = plain(ROWS)
    with face.producer(bootstrap_servers=kafka_0822.bootstrap, compression_type=codec) as producer:
        write(face, producer, topic, rows)
    assert kafka_python_consume(kafka_0822.bootstrap, topic, len(rows), api_version=(0, 8, 2)) == rows

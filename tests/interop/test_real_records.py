"""Records through real brokers, the two newest and the oldest, with every codec that each knows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.errors import UnsupportedVersionError
from tests.interop.brokers import BEFORE, NEWEST, OLDEST
from tests.interop.faces import TIMEOUT
from tests.interop.rows import bulk, messages, plain, read, rows_of, varied, write

if TYPE_CHECKING:
    from tests.interop.faces import Face
    from tests.real.broker import RealKafka

OLD_CODECS = ["none", "gzip", "snappy", "lz4"]
CODECS = [(release, codec) for release in (NEWEST, BEFORE) for codec in [*OLD_CODECS, "zstd"]]
CODECS += [(OLDEST, codec) for codec in OLD_CODECS]

modern = pytest.mark.parametrize("broker", [NEWEST, BEFORE], indirect=True)
each = pytest.mark.parametrize("broker", [NEWEST, BEFORE, OLDEST], indirect=True)
with_codecs = pytest.mark.parametrize(("broker", "codec"), CODECS, indirect=["broker"])


def supported(broker: RealKafka) -> list:
    """The rows that a broker can hold."""
    return plain(varied()) if broker.version == OLDEST else varied()


@with_codecs
def test_every_kind_of_record_comes_back(face: Face, broker: RealKafka, topic: str, codec: str) -> None:
    rows = supported(broker)
    with face.producer(bootstrap_servers=broker.bootstrap, compression_type=codec) as producer:
        written = write(face, producer, topic, rows)
        assert producer.counts() == (len(rows), len(rows), 0, 0)
    assert [(at.topic, at.partition, at.offset, at.timestamp) for at in written] == [
        (topic, 0, offset, row.timestamp) for offset, row in enumerate(rows)
    ]
    found = messages(face, topic, bootstrap_servers=broker.bootstrap)
    assert rows_of(found) == rows
    assert [message.offset for message in found] == list(range(len(rows)))


@with_codecs
def test_columns_in_batches_of_megabytes_come_back(face: Face, broker: RealKafka, topic: str, codec: str) -> None:
    """LZ4 blocks hold 64 KB at least, and Java wants them independent of each other: trap 53."""
    values = bulk(3_000_000)
    keys = [str(number).encode() for number in range(len(values))]
    options = {"batch_size": 2_500_000, "max_request_size": 5_000_000} if codec != "none" else {}
    with face.producer(bootstrap_servers=broker.bootstrap, compression_type=codec, **options) as producer:
        written = face.result(producer.send_many(topic, values, keys))
        assert producer.counts() == (len(values), len(values), 0, 0)
    assert [at.offset for at in written] == list(range(len(values)))
    assert [(row.key, row.value) for row in read(face, topic, bootstrap_servers=broker.bootstrap)] == list(
        zip(keys, values, strict=True)
    )


@pytest.mark.parametrize(
    ("broker", "codec"), [(OLDEST, "gzip"), (OLDEST, "lz4"), (BEFORE, "lz4"), (NEWEST, "lz4")], indirect=["broker"]
)
def test_batch_that_is_too_large_for_the_broker_is_split(face: Face, broker: RealKafka, topic: str, codec: str) -> None:
    values = bulk(3_000_000, noise=1000)
    options: dict[str, Any] = {"batch_size": 2_500_000, "max_request_size": 5_000_000, "compression_type": codec}
    if broker.version == OLDEST:
        options["max_in_flight_requests_per_connection"] = 1  # without idempotence nothing else keeps the order
    with face.producer(bootstrap_servers=broker.bootstrap, **options) as producer:
        face.result(producer.send(topic, b"first"))  # from then on several batches are in flight
        written = face.result(producer.send_many(topic, values))
        assert producer.counts() == (len(values) + 1, len(values) + 1, 0, 0)
    assert [at.offset for at in written] == list(range(1, len(values) + 1))
    assert [row.value for row in read(face, topic, bootstrap_servers=broker.bootstrap)] == [b"first", *values]


@modern
def test_records_without_a_time_get_that_of_send(face: Face, broker: RealKafka, topic: str) -> None:
    before = int(time.time() * 1000)
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        sent = face.result(producer.send(topic, b"now")).timestamp
    after = int(time.time() * 1000)
    (found,) = messages(face, topic, bootstrap_servers=broker.bootstrap)
    assert found.timestamp == sent
    assert before <= sent <= after
    assert found.timestamp_type == 0


@pytest.mark.parametrize("broker", [OLDEST], indirect=True)
def test_oldest_format_has_no_times(face: Face, broker: RealKafka, topic: str) -> None:
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        assert face.result(producer.send(topic, b"dropped", timestamp=1)).timestamp is None
    (found,) = messages(face, topic, bootstrap_servers=broker.bootstrap)
    assert (found.timestamp, found.timestamp_type) == (None, None)


@each
@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement(face: Face, broker: RealKafka, topic: str, acks: int | str) -> None:
    values = bulk(200_000)
    with face.producer(bootstrap_servers=broker.bootstrap, acks=acks) as producer:
        written = face.result(producer.send_many(topic, values))
        assert producer.counts() == (len(values), len(values), 0, 0)
    assert [at.offset for at in written] == ([None] * len(values) if acks == 0 else list(range(len(values))))
    found: list[bytes | None] = []
    with face.consumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        # Unacknowledged ones may still be on their way.
        while len(found) < len(values):
            polled = consumer.poll(timeout=TIMEOUT)
            assert polled
            found += [message.value for message in polled]
    assert found == values


@each
def test_arrow_both_ways(face: Face, broker: RealKafka, topic: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = supported(broker)
    new = broker.version != OLDEST
    columns = {
        "value": pyarrow.array([row.value for row in rows], pyarrow.binary()),
        "key": pyarrow.array([row.key for row in rows], pyarrow.binary()),
    }
    if new:
        columns["timestamp"] = pyarrow.array([row.timestamp for row in rows], pyarrow.timestamp("ms", "UTC"))
    with face.producer(bootstrap_servers=broker.bootstrap, compression_type="lz4") as producer:
        written = face.result(producer.send_arrow(topic, pyarrow.table(columns)))
    assert [at.offset for at in written] == list(range(len(rows)))
    batches: list[Any] = []
    with face.consumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        while sum(batch.num_rows for batch in batches) < len(rows):
            batches.append(consumer.poll_arrow(timeout=TIMEOUT))
            assert batches[-1].num_rows
        assert consumer.poll_arrow(timeout=0).num_rows == 0
    table = pyarrow.Table.from_batches(batches)
    assert table["value"].to_pylist() == [row.value for row in rows]
    assert table["key"].to_pylist() == [row.key for row in rows]
    assert table["offset"].to_pylist() == list(range(len(rows)))
    assert table["timestamp"].cast(pyarrow.timestamp("ms", "UTC")).cast("int64").to_pylist() == [row.timestamp for row in rows]
    assert set(zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True)) == {(topic, 0)}


@modern
def test_arrow_headers(face: Face, broker: RealKafka, topic: str) -> None:
    rows = varied()
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        write(face, producer, topic, rows)
    with face.consumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        found: list[Any] = []
        while len(found) < len(rows):
            batch = consumer.poll_arrow(timeout=TIMEOUT, headers=True)
            assert batch.num_rows
            found += batch["headers"].to_pylist()
    assert [tuple((each["key"], each["value"]) for each in headers or ()) for headers in found] == [row.headers for row in rows]


@pytest.mark.parametrize("broker", [OLDEST], indirect=True)
def test_headers_are_refused_where_they_would_be_lost(face: Face, broker: RealKafka, topic: str) -> None:
    with face.producer(bootstrap_servers=broker.bootstrap) as producer:
        sent = producer.send(topic, b"value", headers=[("name", b"value")])
        with pytest.raises(UnsupportedVersionError, match=r"older than 0\.11"):
            face.result(sent)
        face.result(producer.send(topic, b"without"))
        assert producer.counts() == (2, 1, 1, 0)
    assert [row.value for row in read(face, topic, bootstrap_servers=broker.bootstrap)] == [b"without"]

"""Producer.send_many and send_arrow: columns of records, their checks and their deliveries."""

from __future__ import annotations

import pytest

from kafkawire.errors import (
    BrokerError,
    ConfigurationError,
    DeliveryError,
    ErrorCode,
)
from kafkawire.protocol.murmur2 import murmur2
from tests import bare
from tests.client.faces import SOON
from tests.client.records import stored


def test_send_many(face, kafka):
    values = [b"%d" % i for i in range(1000)]
    keys = [b"%d" % (i % 7) for i in range(1000)]
    headers = [[("n", b"%d" % i)] if i % 2 else None for i in range(1000)]
    times = [1000 + i for i in range(1000)]
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        sent = p.send_many("many", values, keys, timestamps=times, headers=headers)
        written = sent.result(timeout=SOON)
        assert sent.done()
    found = {(m.partition, m.offset): m for m in kafka.messages("many")}
    assert len(found) == len(written) == 1000
    for i, metadata in enumerate(written):
        message = found[metadata.partition, metadata.offset]
        assert (
            (message.value, message.key, message.timestamp)
            == (values[i], keys[i], metadata.timestamp)
            == (values[i], keys[i], times[i])
        )
        assert message.headers == ((("n", b"%d" % i),) if i % 2 else ())


def test_send_many_to_one_partition(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        written = p.send_many("many", [b"a", None, b""], partition=3).result(timeout=SOON)
        assert p.send_many("many", []).result(timeout=SOON) == []
    assert [(m.partition, m.offset) for m in written] == [(3, 0), (3, 1), (3, 2)]
    assert stored(kafka, "many", 3) == [b"a", None, b""]


@pytest.mark.parametrize(
    "columns",
    [
        {"keys": [b"k"]},
        {"timestamps": [1, 2, 3]},
        {"headers": []},
        {"keys": ["text", b"k"]},
        {"values": [b"v", 1]},
        {"timestamps": [1, "2"]},
        {"timestamps": [1, None]},
        {"headers": [None, [(b"name", b"")]]},
        {"headers": [None, [("name", "text")]]},
        {"partition": 4},
        {"partition": -1},
    ],
    ids=str,
)
def test_columns_are_checked_before_anything_is_accepted(face, kafka, columns):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises(ConfigurationError):
            p.send_many("many", **{"values": [b"v", b"w"], **columns})
        assert p.counts().accepted == 0


def test_the_rows_that_failed_are_named(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, retries=0) as p:
        p.send("many", b"first", partition=0).result(timeout=SOON)
        kafka.fail("Produce", ErrorCode.INVALID_RECORD, topic="many", partition=murmur2(b"bad") % 4)
        good = next(k for k in (b"%d" % i for i in range(100)) if murmur2(k) % 4 != murmur2(b"bad") % 4)
        sent = p.send_many("many", [b"v"] * 4, [b"bad", good, b"bad", good])
        with pytest.raises(DeliveryError) as caught:
            sent.result(timeout=SOON)
        counts = p.counts()
    assert set(caught.value.failed) == {0, 2}
    assert {type(error) for error in caught.value.failed.values()} == {BrokerError}
    assert counts == (5, 3, 2, 0)


def test_send_arrow(face, kafka):
    pa = bare.package("pyarrow")
    table = pa.table(
        {
            "value": pa.array([b"a", None, b"c", b"d"]),
            "key": pa.array(["x", None, "z", ""]),
            "partition": pa.array([1, None, 1, 2], pa.int32()),
            "timestamp": pa.array([1_000_000, 2_000_000, 3_000_000, 4_000_000], pa.timestamp("us", "UTC")),
            "headers": pa.array(
                [[{"key": "h", "value": b"1"}], None, [], [{"key": "h", "value": None}]],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        written = p.send_arrow("many", table).result(timeout=SOON)
        plain = p.send_arrow("one", table.select(["value"]).to_batches()[0]).result(timeout=SOON)
        assert p.send_arrow("one", table.slice(0, 0)).result(timeout=SOON) == []
    assert [m.partition for m in written][0::2] == [1, 1]
    assert written[3].partition == 2
    assert [m.timestamp for m in written] == [1000, 2000, 3000, 4000]
    found = {(m.partition, m.offset): m for m in kafka.messages("many")}
    messages = [found[m.partition, m.offset] for m in written]
    assert [m.value for m in messages] == [b"a", None, b"c", b"d"]
    assert [m.key for m in messages] == [b"x", None, b"z", b""]
    assert [m.headers for m in messages] == [(("h", b"1"),), (), (), (("h", None),)]
    assert [m.offset for m in plain] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "columns",
    [
        {"key": [b"k"]},
        {"value": [b"v"], "colour": ["red"]},
        {"value": [1]},
        {"value": [b"v"], "timestamp": [None]},
        {"value": [b"v"], "timestamp": ["noon"]},
        {"value": [b"v"], "partition": ["one"]},
        {"value": [b"v"], "partition": [9]},
        {"value": [b"v"], "headers": [b"h"]},
    ],
    ids=str,
)
def test_tables_are_checked(face, kafka, columns):
    pa = bare.package("pyarrow")
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises(ConfigurationError):
            p.send_arrow("many", pa.table(columns))
        assert p.counts().accepted == 0

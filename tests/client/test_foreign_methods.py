"""Users of other clients look for the methods that they know: each is there, or the error says what to use instead."""

from __future__ import annotations

import pickle

import pytest

import kafkawire.aio
from kafkawire.aio.producer import Delivery as AsyncDelivery
from kafkawire.producer import Delivery
from tests.client.faces import SOON


def said_of(asked, name):
    """Error message of an attribute that an object, or an object of a class, does not have."""
    with pytest.raises(AttributeError) as caught:
        getattr(object.__new__(asked) if isinstance(asked, type) else asked, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (kafkawire.Producer, "produce", "Producer has no 'produce': use send(topic, value, key, on_delivery=...)"),
        (kafkawire.Producer, "initTransactions", "transactions are not in this release yet"),
        (kafkawire.Producer, "partitionsFor", "use partitions_for"),
        (kafkawire.Consumer, "seekToBeginning", "use seek_to_beginning"),
        (kafkawire.Consumer, "getone", "next(consumer)"),
        (kafkawire.Connection, "create_topics", "the admin client is not in this release yet"),
        (kafkawire.Connection, "describeCluster", "use brokers"),
        (Delivery, "get", "use result(timeout=seconds)"),
        (Delivery, "add_errback", "on_delivery=callback"),
        (AsyncDelivery, "result", "await it"),
    ],
    ids=str,
)
def test_the_error_names_ours(kind, name, text):
    assert text in said_of(kind, name)
    assert not hasattr(object.__new__(kind), name)


def test_a_name_that_nobody_has_is_an_ordinary_error():
    assert said_of(kafkawire.Producer, "sendd") == "'Producer' object has no attribute 'sendd'"
    with pytest.raises(AttributeError) as caught:
        object.__new__(kafkawire.Producer).sendd  # type: ignore[attr-defined] # noqa: B018
    assert caught.value.name == "sendd"  # Python prints the nearest of ours


@pytest.mark.parametrize("module", [kafkawire, kafkawire.aio], ids=lambda module: module.__name__)
def test_imports_of_other_clients_classes_name_ours(module):
    with pytest.raises(ImportError, match=r"has no 'KafkaProducer': use Producer"):
        exec(f"from {module.__name__} import KafkaProducer")
    with pytest.raises(ImportError, match=r"cannot import name 'Nope'"):
        exec(f"from {module.__name__} import Nope")
    assert not hasattr(module, "Nope")
    assert issubclass(module.KafkaError, Exception)


def test_messages_stay_plain_tuples():
    message = kafkawire.Message("t", 0, 5, 1, 0, None, b"v")
    assert pickle.loads(pickle.dumps(message)) == message
    assert not hasattr(message, "__dict__")


# ---- what is there under both names


def test_deadlines_may_be_given_by_position(face, kafka):
    p = face.Producer(bootstrap_servers=kafka.bootstrap)
    delivery = p.send("one", b"v")
    assert delivery.result(SOON).offset == 0
    assert delivery.exception(SOON) is None
    p.flush(SOON)
    p.close(SOON)


def test_deadlines_of_the_blocking_face_may_be_given_by_position(kafka):
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap) as p:
        assert p.send_many("one", [b"v"]).result(SOON)[0].offset == 0


def test_topics_and_partitions_can_be_asked_of_producer_and_consumer(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p, face.Consumer("one", bootstrap_servers=kafka.bootstrap) as c:
        assert not p.bootstrap_connected()
        assert not c.bootstrap_connected()
        assert p.partitions_for("many") == c.partitions_for("many") == {0, 1, 2, 3}
        assert c.topics() == ["many", "one"]
        assert p.bootstrap_connected()
        assert c.bootstrap_connected()
    with face.Connection(kafka.bootstrap) as connection:
        assert not connection.bootstrap_connected()
        connection.topics()
        assert connection.bootstrap_connected()


def test_next_returns_one_record_after_the_other(face, kafka):
    for i in range(4):
        kafka.produce("one", b"%d" % i)
    options = {"bootstrap_servers": kafka.bootstrap, "auto_offset_reset": "earliest"}
    with face.Consumer("one", **options, stop_at_end=True) as c:
        assert [next(c).value for _ in range(2)] == [b"0", b"1"]
        assert c.position(("one", 0)) == 2
        kafka.produce("one", b"after the end that was meant")
        assert [message.value for message in c.poll(timeout=SOON, max_records=1)] == [b"2"]
        assert next(c).value == b"3"


def test_next_ends_where_iteration_ends(face, kafka):
    kafka.produce("one", b"v")
    options = {"bootstrap_servers": kafka.bootstrap, "auto_offset_reset": "earliest"}
    with face.Consumer("one", **options, stop_at_end=True) as c:
        assert next(c).value == b"v"
        assert next(c, None) is None
        kafka.produce("one", b"w")
        assert next(c).value == b"w"
    with face.Consumer("one", **options, consumer_timeout_ms=1) as c:
        assert [message.value for message in iter(lambda: next(c, None), None)] in ([], [b"v"], [b"v", b"w"])


@pytest.mark.parametrize("serializer", [None, bytes])
def test_the_time_of_a_record_has_two_names(face, kafka, serializer):
    with face.Producer(bootstrap_servers=kafka.bootstrap, value_serializer=serializer) as p:
        assert p.send("one", b"v", timestamp=77).result(SOON).timestamp == 77
        assert p.send("one", b"v", timestamp_ms=78).result(SOON).timestamp == 78
        with pytest.raises(kafkawire.errors.ConfigurationError, match="two names"):
            p.send("one", b"v", timestamp=1, timestamp_ms=1)

"""Mistakes of users: each raises its own exception, which says what was tried, where, and what to do."""

from __future__ import annotations

import http.server
import logging
import socket
import threading
from struct import pack_into

import pytest

import kafkawire
from kafkawire.errors import (
    BootstrapError,
    ConfigurationError,
    CorruptRecordsError,
    MessageTooLargeError,
    NotKafkaError,
    UnknownTopicError,
)
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.records import encode_record, seal_batch
from mockbroker import MockCluster
from mockbroker.state.log import Batch
from tests.client.faces import SOON


@pytest.fixture
def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def web_server():
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def calls(face, **options):
    """Every way to notice that there is no cluster."""
    with face.Connection(**options) as connection:
        yield lambda: connection.topics(timeout=0.8)
        yield lambda: connection.partitions("t", timeout=0.8)
    with face.Producer(**options, max_block_ms=800) as p:
        yield lambda: p.send("t", b"v")
    with face.Consumer("t", **options) as c:
        yield lambda: c.poll(timeout=0.8)
        yield lambda: c.end_offsets([("t", 0)], timeout=0.8)


def test_nobody_listens(face, closed_port):
    for call in calls(face, bootstrap_servers=f"127.0.0.1:{closed_port}"):
        with pytest.raises(BootstrapError, match=rf"127.0.0.1:{closed_port}.*refused.*Check bootstrap_servers"):
            call()


def test_a_name_that_is_none(face):
    for call in calls(face, bootstrap_servers="no-such-host.invalid:9092"):
        with pytest.raises(BootstrapError, match=r"no-such-host.invalid:9092.*resolve"):
            call()


def test_a_poll_that_waits_for_the_cluster_keeps_to_its_time(face, kafka):
    kafka.drop("Metadata")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap) as c:
        assert c.poll(timeout=0.05) == []
        assert c.poll() == []


def test_a_web_server(face, web_server):
    for call in calls(face, bootstrap_servers=f"127.0.0.1:{web_server}", api_version_auto_timeout_ms=100):
        with pytest.raises((NotKafkaError, BootstrapError), match=rf"127.0.0.1:{web_server}"):
            call()


def test_http_is_recognised(face):
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()

        def answer():
            while not over.is_set():
                connection, _ = server.accept()
                with connection:
                    if connection.recv(10):
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with face.Connection(f"127.0.0.1:{server.getsockname()[1]}") as connection, pytest.raises(NotKafkaError, match="HTTP"):
            connection.topics(timeout=SOON)
        over.set()
        socket.create_connection(server.getsockname()).close()
        thread.join()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"bootstrap_server": "x:1"}, "unknown option 'bootstrap_server': did you mean 'bootstrap_servers'"),
        ({"linger": 5}, "did you mean 'linger_ms'"),
        ({"queue_buffering_max_ms": 5}, "use linger_ms"),
        ({"group_id": "g"}, "consumer groups are not in this release yet"),
        ({"security_protocol": "SASL_SSL"}, "'SASL_SSL' is not one of 'PLAINTEXT', 'SSL': SASL is not in this release yet"),
        ({"linger_ms": "5"}, "linger_ms: '5' is not int"),
        ({"linger_ms": -1}, "-1 is less than 0"),
        ({"linger_ms": True}, "True is not int"),
        ({"acks": 2}, "acks: 2 is not one of"),
        ({"acks": True}, "True is not one of"),
        ({"compression_type": "brotli"}, "'brotli' is not one of"),
        ({"partitioner": "random"}, "partitioner"),
        ({"partitioner": 5}, "not callable"),
        ({"key_serializer": b"utf-8"}, "not callable"),
        ({"compression_type": "gzip", "compression_level": 99}, "gzip level 99"),
        ({"bootstrap_servers": "localhost"}, "'localhost' is not host:port"),
        ({"bootstrap_servers": ""}, "bootstrap_servers is empty"),
        ({"bootstrap_servers": []}, "bootstrap_servers is empty"),
        ({"bootstrap_servers": 9092}, "bootstrap_servers"),
        ({"bootstrap_servers": [("localhost", 9092)]}, "bootstrap_servers"),
        ({"bootstrap_servers": "localhost:0"}, "host:port"),
        ({"bootstrap_servers": "::1:9092"}, r"IPv6: \[address\]:port"),
        ({"ssl_cafile": "/x.pem"}, "set security_protocol='SSL'"),
        ({"security_protocol": "SSL", "ssl_cafile": "/nowhere/x.pem", "ssl_context": ...}, "excludes the other options"),
        ({"enable_idempotence": True, "acks": 0}, "contradicts acks=0"),
    ],
    ids=str,
)
def test_options(face, options, text):
    with pytest.raises(ConfigurationError, match=text):
        face.Producer(**options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"auto_offset_reset": "first"}, "'first' is not one of 'earliest'.*offsets_for_times"),
        ({"value_deserializer": "json"}, "not callable"),
        ({"enable_auto_commit": True}, "consumer groups are not in this release"),
        ({"max_poll_records": 0}, "less than 1"),
        ({"linger_ms": 5}, "unknown option"),
    ],
    ids=str,
)
def test_options_of_a_consumer(face, options, text):
    with pytest.raises(ConfigurationError, match=text):
        face.Consumer("t", **options)


def test_a_dict_in_place_of_options(face):
    for make in (face.Producer, face.Consumer):
        with pytest.raises(ConfigurationError, match=r"options as keywords.*from_properties"):
            make({"bootstrap.servers": "localhost:9092"})


@pytest.mark.parametrize(
    ("arguments", "options"), [((1.0,), {}), ((), {"timeout_ms": 1000}), ((1.0,), {"max_records": 5})], ids=str
)
def test_poll_as_other_clients_have_it(face, kafka, arguments, options):
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap) as c:
        with pytest.raises(TypeError, match=r"poll\(timeout=seconds, max_records=n\) .* a list of messages"):
            c.poll(*arguments, **options)
        assert c.poll(timeout=0.0, max_records=5) == []


def test_options_of_the_connection_belong_there(face, kafka):
    with (
        face.Connection(kafka.bootstrap) as connection,
        pytest.raises(ConfigurationError, match="client_id belongs to the connection"),
    ):
        face.Producer(connection=connection, client_id="x")


def test_properties():
    for properties, text in (
        ({"linger.mss": 5}, "unknown property 'linger.mss': did you mean 'linger.ms'"),
        ({"error.cb": print}, "exceptions, and the logger"),
        ({"linger.ms": "soon"}, "linger.ms: 'soon' is not a whole number"),
        ({"group.id": "g"}, "consumer groups"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            kafkawire.Producer.from_properties(properties)


def test_secrets_stay_secret(face, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "swordfish-77"
    with face.Producer(security_protocol="SSL", ssl_password=secret, bootstrap_servers="localhost:1", max_block_ms=10) as p:
        with pytest.raises(kafkawire.errors.KafkaError) as caught:
            p.send("t", b"v")
        assert secret not in repr(p) + repr(p.options) + repr(caught.value) + str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        face.Producer(ssl_password=77_777)
    assert "77777" not in str(caught.value)
    assert secret not in caplog.text


@pytest.mark.parametrize(
    "record", [{"value": "text"}, {"value": 5}, {"value": b"v", "key": "text"}, {"value": b"v", "key": 5}], ids=str
)
@pytest.mark.parametrize("more", [{}, {"timestamp": 5}, {"headers": [("h", b"")]}], ids=str)
@pytest.mark.parametrize("topic", ["one", "many"])
def test_text_is_not_bytes(face, kafka, record, more, topic):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises(TypeError, match=r"must be bytes or None, not .*encode it, or give .*_serializer"):
            p.send(topic, **record, **more)
        assert p.counts().accepted == 0


@pytest.mark.parametrize("headers", [[("h", "text")], [(b"h", b"")], ["h"], [("h",)], {"h": b"x"}, 5, [("h", b"", 1)]], ids=str)
def test_headers_are_pairs(face, kafka, headers):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises((ConfigurationError, TypeError), match="header"):
            p.send("one", b"v", headers=headers)
        assert p.counts().accepted == 0
        assert p.send("one", b"v").result(timeout=SOON).offset == 0


@pytest.mark.parametrize("partition", [-1, 1, 2**40])
def test_partitions_that_are_not_there(face, kafka, partition):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        with pytest.raises(ConfigurationError, match=f"partition {partition}: topic 'one' has partitions 0 to 0"):
            p.send("one", b"v", partition=partition)
        assert p.counts().accepted == 0


@pytest.mark.parametrize("timestamp", ["noon", 1.5, 1_700_000_000.5, 2**70, -1, True, b"5"])
def test_times_are_milliseconds(face, kafka, timestamp):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for topic in ("one", "many"):
            with pytest.raises(ConfigurationError, match=r"timestamp .*milliseconds since 1970"):
                p.send(topic, b"v", timestamp=timestamp)
        with pytest.raises(ConfigurationError, match="milliseconds"):
            p.send_many("one", [b"v"], timestamps=[timestamp])
        assert p.counts().accepted == 0
        assert p.send("one", b"v").result(timeout=SOON).offset == 0


REFUSED = [
    ({"timestamp": 1_700_000_000.5}, ConfigurationError),
    ({"headers": [("h", "text")]}, ConfigurationError),
    ({"value": "text"}, TypeError),
    ({"key": 5}, TypeError),
    ({"on_delivery": "call me"}, TypeError),
    ({"partition": "0"}, TypeError),
    ({"partition": 0.0}, TypeError),
    ({"partition": True}, TypeError),
    ({"partition": 7}, ConfigurationError),
    ({"value": bytes(2_000_000)}, MessageTooLargeError),
]


@pytest.mark.parametrize(("wrong", "error"), REFUSED, ids=lambda part: str(part)[:40])
def test_a_refused_record_leaves_nothing_that_holds_up_the_next(face, kafka, wrong, error):
    """An open batch without a record would not leave before the next record came, and would keep that one as well."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=0, delivery_timeout_ms=60_000) as p:
        p.send("one", b"first").result(timeout=SOON)
        with pytest.raises(error):
            p.send("one", **{"value": b"v", **wrong})
        assert p.counts() == (1, 1, 0, 0)
        assert p.send("one", b"good").result(timeout=SOON / 2).offset == 1


@pytest.mark.parametrize("topic", [b"one", 5, None, ["one"], ("one",), {"one": 1}], ids=str)
def test_a_topic_is_text(face, kafka, topic):
    """And what is none never gets into a metadata request, or no such request would succeed any more."""
    with face.Connection(kafka.bootstrap) as connection, face.Producer(connection=connection) as p:
        for call in (
            lambda: p.send(topic, b"v"),
            lambda: p.send(topic, b"v", b"key", 0, 5),
            lambda: p.send_many(topic, [b"v"]),
            lambda: connection.partitions(topic),
        ):
            with pytest.raises(TypeError, match="a topic is a str, not"):
                call()
        assert p.send("one", b"v").result(timeout=SOON).offset == 0
        assert len(connection.partitions("many", timeout=SOON)) == 4


@pytest.mark.parametrize("topic", ["", "\ud800", "x" * 40_000], ids=["empty", "surrogate", "long"])
def test_names_that_no_topic_can_have(face, kafka, topic):
    with face.Connection(kafka.bootstrap) as connection, face.Producer(connection=connection) as p:
        for call in (
            lambda: p.send(topic, b"v"),
            lambda: p.send_many(topic, [b"v"]),
            lambda: connection.partitions(topic),
        ):
            with pytest.raises(ConfigurationError, match="topic"):
                call()
        assert p.send("one", b"v").result(timeout=SOON).offset == 0
        assert connection.topics(timeout=SOON) == ["many", "one"]


def test_partitions_of_an_unknown_topic_are_checked_before_it_is_created(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for partition in ("0", 1.5, True):
            for call in (
                lambda partition=partition: p.send("new", b"v", partition=partition),
                lambda partition=partition: p.send_many("new", [b"v"], partition=partition),
            ):
                with pytest.raises(TypeError, match="partition is an int"):
                    call()
    assert kafka.journal.requests() == []


@pytest.mark.parametrize("timeout", ["1", float("nan"), b"1", True, [1]], ids=str)
def test_timeouts_are_seconds(face, kafka, timeout):
    with face.Connection(kafka.bootstrap) as connection, face.Producer(connection=connection, linger_ms=60_000) as p:
        p.send("one", b"v")
        for call in (
            lambda: p.flush(timeout=timeout),
            lambda: p.close(timeout=timeout),
            lambda: connection.topics(timeout=timeout),
            lambda: connection.partitions("one", timeout=timeout),
            lambda: connection.refresh(timeout=timeout),
            lambda: connection.request(MetadataRequest(), timeout=timeout),
        ):
            with pytest.raises((TypeError, ConfigurationError), match="timeout is a number of seconds"):
                call()
        assert not p.send("one", b"v").done()  # it was not closed


def test_requests_of_ones_own_are_checked(face, kafka):
    with face.Connection(kafka.bootstrap) as connection:
        for message in ("Metadata", 3, None, MetadataRequest):
            with pytest.raises(TypeError, match="message is a Request"):
                connection.request(message)
        for broker in ("1", 1.0, True):
            with pytest.raises(TypeError, match="a broker is given as its node id"):
                connection.request(MetadataRequest(), broker=broker)
    assert kafka.journal.requests() == []


@pytest.mark.parametrize("connection", ["localhost:9092", 5, ["localhost:9092"]], ids=str)
def test_what_is_no_connection(face, connection):
    for make in (lambda: face.Producer(connection=connection), lambda: face.Consumer("t", connection=connection)):
        with pytest.raises(TypeError, match=r"connection is a kafkawire\..*Connection, not (str|int|list)"):
            make()


def test_columns_of_any_kind(face, kafka):
    """Any iterable is a column; anything else is refused before a record is accepted."""
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send_many("one", (b"%d" % i for i in range(3)), keys=dict.fromkeys([b"a", b"b", b"c"]), timestamps=range(3))
        for wrong in (5, None):
            with pytest.raises(TypeError, match="values is a list with an item for each record"):
                p.send_many("one", wrong)
        with pytest.raises(ConfigurationError, match="values must be bytes or None, not str"):
            p.send_many("one", "text")
        p.flush(timeout=SOON)
        assert p.counts() == (3, 3, 0, 0)
    assert [(m.key, m.value, m.timestamp) for m in kafka.messages("one")] == [(b"a", b"0", 0), (b"b", b"1", 1), (b"c", b"2", 2)]


@pytest.mark.parametrize("chosen", ["0", 1.0, -1, 4, True], ids=str)
def test_a_partitioner_that_chooses_what_is_not_there(face, kafka, chosen):
    with face.Producer(bootstrap_servers=kafka.bootstrap, partitioner=lambda key, _: chosen if key == b"bad" else 0) as p:
        for call in (lambda: p.send("many", b"v", b"bad"), lambda: p.send_many("many", [b"v", b"v"], [b"good", b"bad"])):
            with pytest.raises((TypeError, ConfigurationError), match="partition"):
                call()
        assert p.counts().accepted == 0
        assert p.send("many", b"v", b"good").result(timeout=SOON).offset == 0


def test_unknown_topics(face):
    with MockCluster(brokers=1, config={"auto.create.topics.enable": "false"}) as kafka:
        options = {"bootstrap_servers": kafka.bootstrap, "retry_backoff_ms": 10, "retry_backoff_max_ms": 10}
        with face.Producer(**options, max_block_ms=1_000) as p:
            for call in (lambda: p.send("nope", b"v"), lambda: p.send_many("nope", [b"v"])):
                with pytest.raises(UnknownTopicError, match=r"topic 'nope' is not on the cluster \(127.0.0.1:.*create it"):
                    call()
            with pytest.raises(ConfigurationError, match="empty"):
                p.send("", b"v")
        with face.Consumer("nope", **options) as c:
            for call in (lambda: c.poll(timeout=SOON), lambda: next(iter(c)), lambda: c.poll_arrow(timeout=SOON)):
                with pytest.raises(UnknownTopicError, match="nope"):
                    call()
        with face.Consumer(**options) as c:
            c.assign([("nope", 0)])
            with pytest.raises(UnknownTopicError, match="nope"):
                c.poll(timeout=SOON)
            c.seek(("nope", 0), 5)
            with pytest.raises(UnknownTopicError, match="nope"):
                c.poll(timeout=SOON)


def read_on(read):
    while True:
        read()


def test_a_corrupt_batch(face, kafka):
    """The records before it come out, then the error, with the place; the position is kept."""
    for i in range(5):
        kafka.produce("one", b"%d" % i)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", retry_backoff_ms=10) as c:
        assert len(c.poll(timeout=SOON, max_records=3)) == 3
        c.seek(("one", 0), 2)
        fault = kafka.corrupt()
        for read in (lambda: c.poll(timeout=SOON), lambda: c.poll_arrow(timeout=SOON), lambda: list(c)):
            with pytest.raises(CorruptRecordsError, match=r"one partition 0 at offset 2: .*seek past it"):
                read_on(read)
            assert c.position(("one", 0)) == 2
        fault.clear()
        c.seek(("one", 0), 2)
        assert [m.offset for m in c.poll(timeout=SOON)] == [2, 3, 4]


def test_damage_that_the_checksum_does_not_show(face, kafka):
    """A batch that does not unpack: what is before it comes out all the same."""

    def append(offset):
        data = bytearray(seal_batch([encode_record(0, 0, None, b"v")], count=1, base_timestamp=0, max_timestamp=0))
        pack_into(">q", data, 0, offset)
        if offset == 2:
            data[61] += 2  # the length of the record
            pack_into(">I", data, 17, crc32c(bytes(data[21:])))
        kafka.cluster.partition("one", 0).log.append(Batch(bytes(data), offset, 0))

    for offset in range(4):
        kafka.call(lambda offset=offset: append(offset))
    for read in ("poll", "poll_arrow"):
        with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
            assert len(getattr(c, read)(timeout=SOON)) == 2
            for _ in range(2):
                with pytest.raises(CorruptRecordsError, match="one partition 0 at offset 2"):
                    getattr(c, read)(timeout=SOON)
                assert c.position(("one", 0)) == 2
            c.seek(("one", 0), 3)
            assert len(getattr(c, read)(timeout=SOON)) == 1

"""`MockCluster` as tests use it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kafkawire.errors import BrokerError, ErrorCode
from mockbroker import MockCluster
from tests.mockbroker.raw import TcpClient, batch, produce_request, produced


def test_records_in_and_out():
    with MockCluster(1, topics={"t": 3}) as mock:
        assert mock.produce("t", "text", b"bytes", None, partition=2, timestamp=5, headers=[("h", b"1")]) == [0, 1, 2]
        assert mock.produce("t", b"later", partition=2, key="k", timestamp=6) == [3]
        assert mock.produce("t", b"first", partition=0) == [0]
        assert mock.produce("t", b"x") == [1]
        assert mock.produce("t") == []
        messages = mock.messages("t")
        assert [(m.partition, m.offset, m.key, m.value) for m in messages] == [
            (0, 0, None, b"first"),
            (0, 1, None, b"x"),
            (2, 0, None, b"text"),
            (2, 1, None, b"bytes"),
            (2, 2, None, None),
            (2, 3, b"k", b"later"),
        ]
        assert messages[2].headers == (("h", b"1"),)
        assert [m.timestamp for m in mock.messages("t", 2)] == [5, 5, 5, 6]
        assert [mock.end_offset("t", partition) for partition in range(3)] == [2, 0, 4]


def test_keys_choose_partitions_as_in_java():
    with MockCluster(1, topics={"t": 10}) as mock:
        for key in (b"", b"kafka", "flights"):
            mock.produce("t", b"v", key=key)
        by_key = {message.key: message.partition for message in mock.messages("t")}
        assert by_key[b"kafka"] == (0xD067CF64 & 0x7FFFFFFF) % 10  # the published hash of "kafka"
        assert by_key[b""] == (0x106E08D9 & 0x7FFFFFFF) % 10


def test_topics_and_refusals():
    with MockCluster() as mock:
        mock.create_topic("t", 2, replication_factor=2, max_message_bytes=100, **{"cleanup.policy": "compact"})
        with pytest.raises(BrokerError, match="already exists") as caught:
            mock.create_topic("t")
        assert caught.value.error is ErrorCode.TOPIC_ALREADY_EXISTS
        with pytest.raises(BrokerError, match=r"max\.message\.bytes"):
            mock.produce("t", bytes(200), key=b"k")
        with pytest.raises(BrokerError, match="partitions 0 to 1"):
            mock.produce("t", b"", partition=2)
        with pytest.raises(BrokerError, match=r"no topic 'u', only \['t'\]"):
            mock.messages("u")
        mock.delete_topic("t")
        with pytest.raises(BrokerError, match="no topic"):
            mock.end_offset("t")
    with pytest.raises(ValueError, match=r"9\.9"):
        MockCluster(version="9.9")


def test_offsets_of_groups():
    with MockCluster(topics={"t": 2}) as mock:
        mock.commit("g", "t", 1, 5)
        assert [mock.committed("g", "t", partition) for partition in range(2)] == [None, 5]
        with pytest.raises(BrokerError, match="partitions 0 to 1"):
            mock.commit("g", "t", 2, 5)
        mock.delete_group("g")
        assert mock.committed("g", "t", 1) is None
        with pytest.raises(BrokerError, match="'g' cannot be deleted") as caught:
            mock.delete_group("g")
        assert caught.value.error is ErrorCode.GROUP_ID_NOT_FOUND


def test_configurations_are_checked_at_the_start():
    for name, value in (("num.partitions", "many"), ("log.retention.hours", ""), ("message.max.bytes", "-1")):
        with pytest.raises(BrokerError, match=f"for configuration {name}"):
            MockCluster(config={name: value})
    given = {"num.partitions": 4, "auto.create.topics.enable": False, "log.cleaner.min.cleanable.ratio": 0.25}
    config = MockCluster(config=given).cluster.config
    assert [config[name] for name in given] == ["4", "false", "0.25"]


@pytest.mark.parametrize(
    ("name", "hint"), [("num.partitons", "num.partitions"), ("retention.msec", "log.retention.ms"), ("of.a.plug-in", "")]
)
def test_configurations_that_no_broker_has_are_refused(name, hint):
    with pytest.raises(ValueError, match=f"no version of Kafka has a broker configuration '{name}'.*{hint}"):
        MockCluster(config={name: "1"})
    MockCluster(version="0.8.2", config={"group.initial.rebalance.delay.ms": "1"})  # of other versions


def test_closing_twice_and_reading_afterwards():
    mock = MockCluster(1, topics={"t": 1}).start()
    mock.produce("t", b"a")
    mock.close()
    mock.close()
    assert [message.value for message in mock.messages("t")] == [b"a"]


def test_many_threads_may_use_it_at_once_even_while_it_closes():
    with MockCluster(1, topics={"t": 1}) as mock:
        offsets: list[int] = []

        def produce():
            for _ in range(200):
                offsets.extend(mock.produce("t", b"v"))

        threads = [threading.Thread(target=produce) for _ in range(4)]
        for thread in threads:
            thread.start()
        mock.journal.requests()
    for thread in threads:
        thread.join()
    assert sorted(offsets) == list(range(800))


def test_a_cluster_can_be_started_again():
    mock = MockCluster(1, topics={"t": 1})
    for expected in (0, 1):
        with mock, TcpClient(mock.brokers[1]) as client:
            assert produced(client.call(produce_request(batch(b"v")), 9)).base_offset == expected


def test_in_asyncio():
    async def scenario():
        async with MockCluster(1, topics={"t": 1}) as mock:
            mock.produce("t", b"a")
            return mock.end_offset("t")

    assert asyncio.run(scenario()) == 1


def test_old_clusters_keep_old_formats():
    for version, timestamp in [("0.9", None), ("0.10.2", 5), ("2.8", 5)]:
        with MockCluster(1, topics={"t": 1}, version=version) as mock:
            mock.produce("t", b"a", b"b", timestamp=5)
            (a, b) = mock.messages("t")
            assert (a.value, b.value, b.offset) == (b"a", b"b", 1)
            assert b.timestamp == timestamp


def test_records_to_json_lines_and_back(tmp_path):
    path = tmp_path / "records.jsonl"
    with MockCluster(1, topics={"empty": 3}) as mock:
        mock.create_topic("t", 2, max_message_bytes=2_000_000)
        mock.produce("t", "text", None, key="k", partition=1, timestamp=5, headers=[("h", b"1"), ("h", None)])
        mock.produce("t", b"\xff\x00", key=b"\xfe", partition=0, timestamp=6)
        mock.produce("t", *[bytes(300_000)] * 3, partition=0, timestamp=7)
        assert mock.coordinator("g") == 1  # which brings the topic that groups are kept in
        mock.dump(path)
        with MockCluster(1, version="4.0") as other:
            assert other.load(path) == 6
            assert list(other.cluster.topics) == ["empty", "t"]  # what brokers keep for themselves stays with them
            assert [m[:8] for m in other.messages("t")] == [m[:8] for m in mock.messages("t")]
            assert len(other.cluster.topic("empty").partitions) == 3
            assert other.cluster.topic("t").configs == {"max.message.bytes": "2000000"}
            assert other.load(path) == 6  # topics that are there get the records again
            assert other.end_offset("t", 1) == 4


def test_loading_what_was_written_by_hand(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(
        '{"topic": "a", "value": "1", "partition": 2}\n'
        "\n"
        '{"topic": "b", "partitions": 10}\n'
        '{"topic": "b", "value": {"base64": "/w=="}, "key": "kafka"}\n'
    )
    with MockCluster(1) as mock:
        assert mock.load(path) == 2
        assert len(mock.cluster.topic("a").partitions) == 3
        (message,) = mock.messages("b")
        assert (message.value, message.partition) == (b"\xff", (0xD067CF64 & 0x7FFFFFFF) % 10)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense", "line 2: Expecting value"),
        ("[]", "line 2: .* is no record"),
        ('{"topic": "t"}', "line 2: a record needs a 'value'"),
        ('{"value": "v"}', "line 2: 'topic' is missing"),
        ('{"topic": "t", "value": 1}', "line 2: 1 is neither text"),
        ('{"topic": "t", "value": {"base64": "*"}}', "line 2: "),
        ('{"topic": "t", "value": "v", "partition": "0"}', "line 2: 'partition' is '0'"),
        ('{"topic": "t", "value": "v", "offest": 0}', "line 2: a record has no 'offest'"),
        ('{"topic": "t", "partitions": "3"}', "line 2: 'partitions' is '3'"),
        ('{"topic": "t", "value": "v", "headers": [["only a name"]]}', "line 2: 'headers'"),
    ],
)
def test_lines_that_cannot_be_loaded_load_nothing(tmp_path, line, reason):
    path = tmp_path / "records.jsonl"
    path.write_text('{"topic": "before", "value": "v"}\n' + line)
    with MockCluster(1) as mock:
        with pytest.raises(ValueError, match=reason):
            mock.load(path)
        assert list(mock.cluster.topics) == []


@pytest.mark.parametrize("wrong", [None, 5, b"g", ["g"], ...], ids=str)
def test_the_id_of_a_group_is_text(mock_kafka, wrong):
    """A mistake must not make a test green: that nothing is committed for 5 says nothing of the group "5"."""
    mock_kafka.create_topic("t")
    for call in (
        lambda: mock_kafka.committed(wrong, "t"),
        lambda: mock_kafka.commit(wrong, "t", 0, 1),
        lambda: mock_kafka.delete_group(wrong),
        lambda: mock_kafka.coordinator(wrong),
        lambda: mock_kafka.move_coordinator(wrong, 1),
    ):
        with pytest.raises(TypeError, match=r"'group' is .* it has to be text"):
            call()


def test_what_is_committed_and_advertised_is_checked(mock_kafka):
    mock_kafka.create_topic("t")
    broker = mock_kafka.brokers[1]
    for call, name in (
        (lambda: mock_kafka.commit("g", "t", 0, 1.5), "offset"),
        (lambda: mock_kafka.commit("g", "t", 0, "1"), "offset"),
        (lambda: mock_kafka.committed("g", 5), "topic"),
        (lambda: mock_kafka.committed("g", "t", "0"), "partition"),
        (lambda: broker.advertise(None, 9092), "host"),
        (lambda: broker.advertise("localhost", "9092"), "port"),
    ):
        with pytest.raises(TypeError, match=f"'{name}' is"):
            call()
    assert mock_kafka.committed("g", "t") is None
    assert broker.advertised == broker.address

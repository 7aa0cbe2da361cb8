"""Fetch, frame by frame: wake-up, limits, formats, errors."""

from __future__ import annotations

import gc
import weakref

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.messages.fetch import FetchRequest
from kafkawire.protocol.records import encode_message_set, read_batches
from mockbroker import ServerConnection
from tests.mockbroker.raw import MemoryMock, batch, fetch_request, fetched, produce_request, values_in


def filled(*batches, topics=None, **options):
    """A cluster whose topic t holds these batches."""
    mock = MemoryMock(topics=topics or {"t": 1}, **options)
    client = mock.client()
    for data in batches:
        client.call(produce_request(data), 9)
    return mock, client


@pytest.mark.parametrize("version", range(4, 19))
def test_several_batches_and_the_numbers_beside_them(version):
    mock, client = filled(batch(b"a", b"b"), batch(b"c", codec=Codec.GZIP))
    answer = fetched(client.call(fetch_request(topic_id=mock.topic_id("t")), version))
    assert values_in(answer.records) == [b"a", b"b", b"c"]
    assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 3, 3)
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert answer.aborted_transactions is None
    committed = fetch_request(topic_id=mock.topic_id("t"), isolation_level=1)
    assert fetched(client.call(committed, version)).aborted_transactions == []


def test_a_fetch_inside_a_batch_returns_the_whole_batch():
    _, client = filled(batch(b"a"), batch(b"b", b"c", b"d"), batch(b"e"))
    assert values_in(fetched(client.call(fetch_request(2), 12)).records) == [b"b", b"c", b"d", b"e"]
    assert values_in(fetched(client.call(fetch_request(4), 12)).records) == [b"e"]


def test_at_the_end_records_are_empty_not_null():
    _, client = filled(batch(b"a"))
    answer = fetched(client.call(fetch_request(1), 12))
    assert (answer.error_code, answer.high_watermark, answer.records) == (0, 1, b"")


@pytest.mark.parametrize("offset", [-1, 2, 2**62])
def test_offsets_out_of_range(offset):
    _, client = filled(batch(b"a"))
    answer = fetched(client.call(fetch_request(offset, max_wait_ms=1000), 12))
    assert (answer.error_code, answer.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert answer.aborted_transactions is None
    assert answer.records == b""


def test_a_waiting_fetch_wakes_when_enough_bytes_are_there():
    mock, client = filled()
    size = len(batch(b"a"))
    pending = client.send(fetch_request(max_wait_ms=500, min_bytes=2 * size), 12)
    other = mock.client()
    other.call(produce_request(batch(b"a")), 9)
    assert not pending.done
    other.call(produce_request(batch(b"b")), 9)
    assert values_in(fetched(pending.result()).records) == [b"a", b"b"]
    assert mock.clock.now() == 0


def test_a_waiting_fetch_answers_what_there_is_when_its_time_is_up():
    mock, client = filled(batch(b"a"))
    pending = client.send(fetch_request(max_wait_ms=500, min_bytes=1_000), 12)
    mock.clock.advance(0.499)
    assert not pending.done
    mock.clock.advance(0.001)
    assert values_in(fetched(pending.result()).records) == [b"a"]


@pytest.mark.parametrize("happening", ["leader", "deletion"])
def test_a_waiting_fetch_hears_of_errors_at_once(happening):
    mock, client = filled(brokers=2)
    pending = client.send(fetch_request(max_wait_ms=500), 12)
    if happening == "leader":
        mock.cluster.move_leader("t", 0, 2)
    else:
        mock.cluster.delete_topic("t")
    mock.clock.advance()
    answer = fetched(pending.result())
    if happening == "leader":
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 1)
    else:
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_connection_is_served_in_order_and_only_that_one_waits():
    mock, client = filled()
    waiting = client.send(fetch_request(max_wait_ms=500), 12)
    behind = client.send(fetch_request(0), 12)
    assert not waiting.done
    assert not behind.done
    other = mock.client()
    assert other.send(fetch_request(0), 12).done
    other.call(produce_request(batch(b"a")), 9)
    assert waiting.done
    assert behind.done
    first, second = (int.from_bytes(pending.frame[:4], "big") for pending in (waiting, behind))
    assert first < second


def test_a_client_that_leaves_while_it_waits_is_forgotten():
    mock, client = filled()
    client.send(fetch_request(max_wait_ms=500), 12)
    client.disconnect()
    other = mock.client()
    other.call(produce_request(batch(b"a")), 9)
    mock.clock.advance(1)
    assert client.output == b""
    gone = weakref.ref(client)
    del client
    gc.collect()
    assert gone() is None


def test_answers_that_nobody_takes_do_not_pile_up():
    mock, _ = filled(batch(bytes(900_000)))
    connection = ServerConnection(mock.cluster, mock.cluster.brokers[1], 1, lambda: None)
    frames = [mock.client().frame(fetch_request(), 12)[1] for _ in range(20)]
    connection.received(b"".join(frames), 0.0)
    sizes = []
    while output := connection.take_output():
        sizes.append(sum(map(len, output)))
        connection.run(0.0)
    assert sum(sizes) > 20 * 900_000
    assert max(sizes) < 2_000_000


def test_size_limits_cut_in_the_middle_of_a_batch_but_the_first_comes_whole():
    one = batch(bytes(100))
    mock, client = filled(one, one, one)
    answer = fetched(client.call(fetch_request(partition_max_bytes=10), 12))
    assert bytes(answer.records) == mock.log("t").batches(0)[0].data
    answer = fetched(client.call(fetch_request(partition_max_bytes=len(one) + 30), 12))
    assert len(answer.records) == len(one) + 30
    assert len(list(read_batches(answer.records))) == 1
    answer = fetched(client.call(fetch_request(max_bytes=2 * len(one)), 12))
    assert len(list(read_batches(answer.records))) == 2


def test_the_limit_of_the_whole_answer_leaves_later_partitions_empty():
    _mock, client = filled(topics={"t": 3})
    one = batch(bytes(1000))
    for partition in range(3):
        client.call(produce_request(one, partition=partition), 9)
    response = client.call(fetch_request(partitions=[2, 0, 1], max_bytes=2 * len(one) + 10), 12)
    answers = response.responses[0].partitions
    assert [(answer.partition_index, len(answer.records)) for answer in answers] == [(2, len(one)), (0, len(one)), (1, 0)]
    response = client.call(fetch_request(partitions=[2, 0], max_bytes=1), 12)
    assert [len(answer.records) for answer in response.responses[0].partitions] == [len(one), 0]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_limits_cut_the_first_batch_too(version):
    mock = MemoryMock(topics={"t": 1}, version="0.10.2")
    client = mock.client()
    client.call(produce_request(encode_message_set(0, [(None, bytes(100), None)])), 0)
    answer = fetched(client.call(fetch_request(partition_max_bytes=50), version))
    assert len(answer.records) == 50
    assert list(read_batches(answer.records)) == []


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4, Codec.ZSTD])
def test_old_clients_get_formats_that_they_can_read(version, magic, codec):
    _mock, client = filled(batch(b"a", b"b", codec=codec), batch(b"c", b"d"), version="2.8")
    answer = fetched(client.call(fetch_request(1), version))
    batches = list(read_batches(answer.records))
    columns = records.decode_columns(batches)
    assert {one.magic for one in batches} == {magic}
    assert list(columns.offsets) == [0, 1, 2, 3]
    assert records.values(columns) == [b"a", b"b", b"c", b"d"]
    assert list(columns.timestamps) == ([1000, 1001] * 2 if magic else [-1] * 4)


def test_errors_beside_good_partitions():
    _mock, client = filled(batch(b"a"), topics={"t": 1, "u": 2}, brokers=2)
    asked = FetchRequest.Topic
    request = FetchRequest(
        max_wait_ms=1000,
        min_bytes=1_000_000,
        topics=[
            asked(topic="t", partitions=[asked.Partition(partition=0, partition_max_bytes=1000)]),
            asked(topic="u", partitions=[asked.Partition(partition=1, partition_max_bytes=1000), asked.Partition(partition=9)]),
            asked(topic="x", partitions=[asked.Partition(partition=0)]),
        ],
    )
    response = client.call(request, 12)  # at once, although min_bytes are not there
    found = [(topic.topic, [ErrorCode.of(answer.error_code) for answer in topic.partitions]) for topic in response.responses]
    assert found == [
        ("t", [ErrorCode.NONE]),
        ("u", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]),
        ("x", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]),
    ]
    assert values_in(response.responses[0].partitions[0].records) == [b"a"]


def test_topic_ids_and_the_new_leaders_address():
    mock, client = filled(topics={"t": 2}, brokers=2)
    assert fetched(client.call(fetch_request(topic_id=b"?" * 16), 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    response = client.call(fetch_request(topic_id=mock.topic_id("t"), partitions=[1]), 16)
    assert fetched(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetched(response).current_leader.leader_id == 2
    assert [node.node_id for node in response.node_endpoints] == [2]


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(-1, ErrorCode.NONE), (0, ErrorCode.FENCED_LEADER_EPOCH), (1, ErrorCode.NONE), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_leader_epochs_are_checked(epoch, error):
    mock, client = filled(batch(b"a"))
    mock.cluster.move_leader("t", 0, 1)
    request = fetch_request()
    request.topics[0].partitions[0].current_leader_epoch = epoch
    assert fetched(client.call(request, 12)).error_code == error


def test_sessions_are_not_kept():
    _, client = filled(batch(b"a"))
    opened = client.call(fetch_request(session_id=0, session_epoch=0), 12)
    assert (opened.error_code, opened.session_id) == (0, 0)
    assert values_in(fetched(opened).records) == [b"a"]
    assert client.call(fetch_request(session_id=5, session_epoch=1), 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

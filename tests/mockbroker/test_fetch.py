"""Fetch, frame by frame: wake-up, limits, formats, errors."""

from __future__ import annotations

import gc
import weakref

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.messages.fetch import FetchRequest
from kafkawire.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
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
    request = fetch_request(max_wait_ms=500, topic_id=mock.topic_id("t"))
    request.topics[0].partitions[0].current_leader_epoch = 0
    pending = client.send(request, 16 if happening == "leader" else 12)
    if happening == "leader":
        mock.cluster.move_leader("t", 0, 2)
    else:
        mock.cluster.delete_topic("t")
    mock.clock.advance()
    answer = fetched(pending.result())
    if happening == "leader":
        assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH
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
    connection = ServerConnection(mock.server.services, mock.cluster.brokers[1], 1, lambda: None)
    frames = [mock.client().frame(fetch_request(), 12)[1] for _ in range(20)]
    connection.received(b"".join(frames))
    sizes = []
    while connection.serve(0.0):
        while connection.serve(0.0):
            pass
        sizes.append(sum(map(len, connection.take_output())))
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
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_old_clients_get_formats_that_they_can_read(version, magic, codec):
    _mock, client = filled(batch(b"a", b"b", codec=codec), batch(b"c", b"d"), version="2.8")
    batches: list[records.RecordBatch] = []
    while (at := batches[-1].next_offset if batches else 1) < 4:  # it is cut off where it is longer than what is stored
        batches += read_batches(fetched(client.call(fetch_request(at), version)).records)
    columns = records.decode_columns(batches)
    assert {one.magic for one in batches} == {magic}
    assert list(columns.offsets) == [0, 1, 2, 3]
    assert records.values(columns) == [b"a", b"b", b"c", b"d"]
    assert list(columns.timestamps) == ([1000, 1001] * 2 if magic else [-1] * 4)
    assert {one.codec for one in batches} == {codec, Codec.NONE}


@pytest.mark.parametrize("version", [0, 2, 3])
def test_old_clients_get_nothing_before_what_they_ask_for(version):
    _mock, client = filled(batch(b"a", b"b", b"c"), version="2.8")
    assert values_in(fetched(client.call(fetch_request(1), version)).records) == [b"b", b"c"]


@pytest.mark.parametrize("version", [0, 2, 3, 4])
def test_old_clients_get_no_zstd(version):
    _mock, client = filled(batch(b"a"), batch(b"b", codec=Codec.ZSTD), batch(b"c"), version="2.8")
    answer = fetched(client.call(fetch_request(), version))
    assert values_in(answer.records) == ([b"a"] if version < 4 else [b"a", b"b", b"c"])
    answer = fetched(client.call(fetch_request(1), version))
    assert answer.error_code == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 4 else 0)


def test_old_clients_hear_of_log_append_time():
    mock = MemoryMock(version="2.8")
    mock.cluster.create_topic("t", 1, configs={"message.timestamp.type": "LogAppendTime"})
    client = mock.client()
    client.call(produce_request(batch(b"a", b"b")), 8)
    (one, *_) = read_batches(fetched(client.call(fetch_request(), 2)).records)
    assert (one.timestamp_type, one.max_timestamp) == (1, 1_700_000_000_000)


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
    response = client.call(request, 10)  # at once, although min_bytes are not there
    found = [(topic.topic, [ErrorCode.of(answer.error_code) for answer in topic.partitions]) for topic in response.responses]
    assert found == [
        ("t", [ErrorCode.NONE]),
        ("u", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]),
        ("x", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]),
    ]
    assert values_in(response.responses[0].partitions[0].records) == [b"a"]


def test_topic_ids_and_the_new_leaders_address():
    mock = MemoryMock(2)
    mock.cluster.create_topic("t", 2, 1)
    client = mock.client()
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


def test_unknown_topics_do_not_end_the_wait_for_the_others():
    mock, client = filled(topics={"t": 1})
    request = fetch_request(max_wait_ms=500)
    request.topics += fetch_request(topic="unknown").topics
    pending = client.send(request, 12)
    assert not pending.done
    mock.client().call(produce_request(batch(b"a")), 9)
    answers = {topic.topic: topic.partitions[0] for topic in pending.result().responses}
    assert values_in(answers["t"].records) == [b"a"]
    assert answers["unknown"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.send(fetch_request(topic="unknown", max_wait_ms=500), 12).done


def test_the_brokers_own_limit():
    one = batch(bytes(1000))
    _, client = filled(one, one, one, config={"fetch.max.bytes": str(2 * len(one))})
    pending = client.send(fetch_request(max_wait_ms=500, min_bytes=1_000_000), 12)
    assert pending.done  # as much as there can ever be
    assert len(list(read_batches(fetched(pending.result()).records))) == 2


def grown():
    """Two records of epoch 0, none of 1, two of 2, one of 4."""
    mock, client = filled(batch(b"a", b"b"))
    mock.cluster.move_leader("t", 0, 1)
    mock.cluster.move_leader("t", 0, 1)
    client.call(produce_request(batch(b"c", b"d")), 9)
    mock.cluster.move_leader("t", 0, -1)
    mock.cluster.move_leader("t", 0, 1)
    client.call(produce_request(batch(b"e")), 9)
    return mock, client


@pytest.mark.parametrize(
    ("last_epoch", "offset", "diverging"),
    [(0, 2, None), (0, 3, (0, 2)), (1, 2, (0, 2)), (2, 4, None), (2, 5, (2, 4)), (3, 4, (2, 4)), (4, 5, None), (4, 6, (4, 5))],
)
def test_a_log_that_has_diverged(last_epoch, offset, diverging):
    _, client = grown()
    request = fetch_request(offset, max_wait_ms=500 if diverging else 0)
    request.topics[0].partitions[0].last_fetched_epoch = last_epoch
    answer = fetched(client.call(request, 12))
    assert answer.error_code == 0
    found = answer.diverging_epoch
    assert (None if found is None else (found.epoch, found.end_offset)) == diverging
    assert not (diverging and answer.records)


def test_a_last_epoch_that_never_was():
    _, client = grown()
    request = fetch_request(2)
    request.topics[0].partitions[0].last_fetched_epoch = 5
    assert fetched(client.call(request, 12)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("epoch", "end"),
    [(-1, (-1, -1)), (0, (0, 2)), (1, (0, 2)), (2, (2, 4)), (3, (2, 4)), (4, (4, 5)), (5, (-1, -1))],
)
@pytest.mark.parametrize("version", [2, 3, 4])
def test_ends_of_leader_epochs(version, epoch, end):
    _, client = grown()
    assert asked_end(client, version, epoch) == (ErrorCode.NONE, *end)


def asked_end(client, version, epoch, *, topic="t", partition=0, current=-1):
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current, leader_epoch=epoch
    )
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[wanted])
    ((answer,),) = [each.partitions for each in client.call(OffsetForLeaderEpochRequest(topics=[asked]), version).topics]
    return ErrorCode.of(answer.error_code), answer.leader_epoch, answer.end_offset


def test_ends_of_leader_epochs_that_are_refused():
    mock, client = grown()
    mock.cluster.create_topic("u", 2, 1)
    assert asked_end(client, 4, 0, topic="x") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert asked_end(client, 4, 0, partition=9) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert asked_end(client, 4, 0, current=0) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert asked_end(client, 4, 0, current=9) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert asked_end(client, 4, 0, current=4) == (ErrorCode.NONE, 0, 2)

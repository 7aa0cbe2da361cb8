"""ListOffsets, frame by frame."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from mockbroker.data import Record, append_records
from tests.mockbroker.raw import MemoryMock, batch, produce_request

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)


def asked(timestamp, *, partition=0, topic="t", epoch=-1, count=1):
    wanted = ListOffsetsRequest.Topic.Partition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=count
    )
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name=topic, partitions=[wanted])])


def listed(client, version, timestamp, **options):
    ((answer,),) = [topic.partitions for topic in client.call(asked(timestamp, **options), version).topics]
    return answer


@pytest.fixture
def client():
    mock = MemoryMock(2, topics={"t": 2}, version="4.3")
    client = mock.client()
    client.call(produce_request(batch(b"a", b"b", timestamp=100)), 9)  # offset 0 at 100, 1 at 101
    client.call(produce_request(batch(b"c", b"d", timestamp=50)), 9)  # 2 at 50, 3 at 51
    mock.cluster.move_leader("t", 0, 1)
    client.call(produce_request(batch(b"e", timestamp=200)), 9)  # 4 at 200, in epoch 1
    return client


@pytest.mark.parametrize("version", range(1, 12))
def test_ends_and_times(client, version):
    def found(timestamp):
        answer = listed(client, version, timestamp)
        assert answer.error_code == 0
        epoch = (answer.leader_epoch,) if version >= 4 else ()
        return (answer.offset, answer.timestamp, *epoch)

    def expect(offset, timestamp, epoch):
        return (offset, timestamp, epoch) if version >= 4 else (offset, timestamp)

    assert found(LATEST) == expect(5, -1, 1)
    assert found(EARLIEST) == expect(0, -1, 0)
    assert found(0) == expect(0, 100, 0)
    assert found(101) == expect(1, 101, 0)
    assert found(102) == expect(4, 200, 1)
    assert found(201) == expect(-1, -1, -1)


@pytest.mark.parametrize(
    ("special", "since"), [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING, 11)]
)
def test_special_times_came_with_versions(client, special, since):
    assert listed(client, since - 1, special).error_code == ErrorCode.UNSUPPORTED_VERSION
    answer = listed(client, since, special)
    expected = {MAX_TIMESTAMP: (4, 200), EARLIEST_LOCAL: (0, -1), LATEST_TIERED: (-1, -1), EARLIEST_PENDING: (-1, -1)}
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, *expected[special])


# Each release with the offset and the time that it finds for -3 to -6 in its newest version.
AT_START, FIRST, NOTHING = (0, -1), (0, 100), (-1, -1)


@pytest.mark.parametrize(
    ("release", "newest", "found"),
    [
        ("0.10.1", 1, [FIRST, FIRST, FIRST, FIRST]),
        ("2.8", 6, [FIRST, FIRST, FIRST, FIRST]),
        ("3.0", 7, [(4, 200), FIRST, FIRST, FIRST]),
        ("3.8", 8, [(4, 200), AT_START, FIRST, FIRST]),
        ("3.9", 9, [(4, 200), AT_START, NOTHING, None]),
        ("4.3", 11, [(4, 200), AT_START, NOTHING, NOTHING]),
    ],
)
def test_special_times_came_with_releases(release, newest, found):
    mock = MemoryMock(topics={"t": 1}, version=release)
    append_records(mock.cluster, "t", 0, [Record("t", b"", timestamp=at) for at in (100, 101, 50, 51, 200)], 0)
    client = mock.client()
    for special, expected in zip(range(MAX_TIMESTAMP, EARLIEST_PENDING - 1, -1), found, strict=True):
        answer = listed(client, newest, special)
        if expected is None:
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        else:
            assert (answer.error_code, answer.offset, answer.timestamp) == (0, *expected)


@pytest.mark.parametrize("version", range(1, 7))
def test_brokers_before_3_9_know_special_times_in_every_version(version):
    mock = MemoryMock(topics={"t": 1}, version="3.8")
    append_records(mock.cluster, "t", 0, [Record("t", b"", timestamp=at) for at in (100, 200, 50)], 0)
    answer = listed(mock.client(), version, MAX_TIMESTAMP)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, 1, 200)


def test_errors(client):
    assert listed(client, 6, LATEST, topic="x").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert listed(client, 6, LATEST, partition=2).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert listed(client, 6, LATEST, partition=1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert listed(client, 6, LATEST, epoch=0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert listed(client, 6, LATEST, epoch=7).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_an_empty_partition_has_no_latest_time():
    answer = listed(MemoryMock(topics={"t": 1}).client(), 7, MAX_TIMESTAMP)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, -1, -1)


def test_version_0_lists_segments():
    mock = MemoryMock(topics={"t": 1}, version="2.8")
    client = mock.client()
    assert listed(client, 0, LATEST, count=2).old_style_offsets == [0]
    assert listed(client, 0, 0, count=2).old_style_offsets == []
    client.call(produce_request(batch(b"a", b"b", timestamp=100)), 9)
    assert listed(client, 0, LATEST).old_style_offsets == [2]
    assert listed(client, 0, LATEST, count=9).old_style_offsets == [2, 0]
    assert listed(client, 0, EARLIEST, count=9).old_style_offsets == [0]
    now = 1_700_000_000_000  # when records came counts here, not their own times
    assert listed(client, 0, EARLIEST_LOCAL, count=9).old_style_offsets == []  # not known then
    assert listed(client, 0, now - 1, count=9).old_style_offsets == []
    assert listed(client, 0, now, count=9).old_style_offsets == [2, 0]
    mock.clock.advance(10)
    assert listed(client, 0, now, count=9).old_style_offsets == [0]
    assert listed(client, 0, now + 10_000).old_style_offsets == [2]
    assert listed(client, 0, LATEST, count=0).old_style_offsets == []

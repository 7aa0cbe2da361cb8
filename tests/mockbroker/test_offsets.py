"""FindCoordinator, OffsetCommit and OffsetFetch, frame by frame: what a group keeps, from whom, and for how long."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkawire.protocol.messages.offset_commit import OffsetCommitRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from mockbroker.broker.registry import advertised
from tests.mockbroker.groups import Member, stable
from tests.mockbroker.raw import MemoryMock

WEEK = 7 * 24 * 3600
CHECK = 600
"""Seconds: how long positions are kept, and how often that is looked after."""


def coordinator_of(mock, group="g"):
    return mock.client().call(FindCoordinatorRequest(key=group), 3).node_id


def commit(mock, client, version, offset, *, topic="t", partition=0, group="g", metadata="m", **options):
    one = OffsetCommitRequest.Topic.Partition(
        partition_index=partition, committed_offset=offset, committed_leader_epoch=3, committed_metadata=metadata
    )
    found = mock.cluster.topics.get(topic)
    asked = OffsetCommitRequest.Topic(name=topic, topic_id=b"?" * 16 if found is None else found.id, partitions=[one])
    response = client.call(OffsetCommitRequest(group_id=group, topics=[asked], **options), version)
    return ErrorCode.of(response.topics[0].partitions[0].error_code)


def fetch_offsets(mock, client, version, wanted, group):
    """The answer's topics; all of the group's without `wanted`."""
    if version < 8:
        named = [OffsetFetchRequest.Topic(name=name, partition_indexes=[p]) for name, p in wanted]
        response = client.call(OffsetFetchRequest(group_id=group, topics=named or None), version)
        assert response.error_code == 0
        return response.topics
    ids = {name: topic.id for name, topic in mock.cluster.topics.items()}
    asked = [
        OffsetFetchRequest.Group.Topics(name=name, topic_id=ids.get(name, b"?" * 16), partition_indexes=[p])
        for name, p in wanted
    ]
    groups = [OffsetFetchRequest.Group(group_id=group, topics=asked or None)]
    (answer,) = client.call(OffsetFetchRequest(groups=groups), version).groups
    assert (answer.group_id, answer.error_code) == (group, 0)
    return answer.topics


def committed(mock, client, version, *wanted, group="g"):
    """Offsets of a response as [(topic, partition, offset, epoch, metadata, error)]."""
    names = {topic.id: name for name, topic in mock.cluster.topics.items()}
    return [
        (
            names.get(topic.topic_id) if version >= 10 else topic.name,
            one.partition_index,
            one.committed_offset,
            one.committed_leader_epoch,
            one.metadata,
            one.error_code,
        )
        for topic in fetch_offsets(mock, client, version, wanted, group)
        for one in topic.partitions
    ]


def test_every_broker_names_the_same_coordinator():
    mock = MemoryMock(3)
    for group in ("g", "another", "ünï"):
        found = set()
        for broker in (1, 2, 3):
            client = mock.client(broker)
            for version in range(4):
                answer = client.call(FindCoordinatorRequest(key=group), version)
                assert (answer.error_code, answer.host, answer.port) == (0, f"broker-{answer.node_id}", 9092)
                found.add(answer.node_id)
            for version in (4, 5, 6):
                request = FindCoordinatorRequest(coordinator_keys=[group, "g"], key_type=0)
                first, _ = client.call(request, version).coordinators
                assert (first.key, first.error_code) == (group, 0)
                found.add(first.node_id)
        assert len(found) == 1


def test_share_groups_have_no_coordinator():
    client = MemoryMock().client()
    assert client.call(FindCoordinatorRequest(key="g", key_type=2), 3).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(11))
def test_commit_and_fetch(version):
    mock = MemoryMock(2, topics={"t": 2, "u": 1}, version="4.3" if version >= 10 else "3.9")
    client = mock.client(coordinator_of(mock))
    assert commit(mock, client, version, 17, partition=1, metadata="näh\0") == 0
    epoch = 3 if version >= 6 else -1
    lowest, highest = advertised(mock.cluster.profile)[OffsetFetchRequest.key]
    for read in range(lowest, highest + 1):
        seen = epoch if read >= 5 else -1
        assert committed(mock, client, read, ("t", 1), ("u", 0)) == [
            ("t", 1, 17, seen, "näh\0", 0),
            ("u", 0, -1, -1, "", 0),
        ]
        if read >= 2:
            assert committed(mock, client, read) == [("t", 1, 17, seen, "näh\0", 0)]


def test_refusals():
    mock = MemoryMock(2, topics={"t": 1})
    client = mock.client(coordinator_of(mock))
    assert commit(mock, client, 9, 1, topic="x") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(mock, client, 10, 1, topic="x") == ErrorCode.UNKNOWN_TOPIC_ID
    assert commit(mock, client, 9, 1, partition=1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(mock, client, 8, 1, generation_id_or_member_epoch=1, member_id="m") == ErrorCode.ILLEGAL_GENERATION
    assert commit(mock, client, 9, 1, generation_id_or_member_epoch=1, member_id="m") == ErrorCode.GROUP_ID_NOT_FOUND
    assert commit(mock, client, 9, 1, metadata="x" * 4097) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(mock, client, 9, 1, member_id="m") == 0
    assert commit(mock, client, 9, 1, generation_id_or_member_epoch=1, member_id="m") == ErrorCode.UNKNOWN_MEMBER_ID
    assert committed(mock, client, 9, ("x", 0)) == [("x", 0, -1, -1, "", 0)]
    assert committed(mock, client, 10, ("x", 0))[0][5] == ErrorCode.UNKNOWN_TOPIC_ID


def test_another_broker_sends_clients_away():
    mock = MemoryMock(2, topics={"t": 1})
    client = mock.client(3 - coordinator_of(mock))
    assert commit(mock, client, 9, 1) == ErrorCode.NOT_COORDINATOR
    asked = OffsetFetchRequest(groups=[OffsetFetchRequest.Group(group_id="g", topics=None)])
    assert client.call(asked, 9).groups[0].error_code == ErrorCode.NOT_COORDINATOR
    assert client.call(OffsetFetchRequest(group_id="g", topics=None), 7).error_code == ErrorCode.NOT_COORDINATOR
    topics = [OffsetFetchRequest.Topic(name="t", partition_indexes=[0])]
    answer = client.call(OffsetFetchRequest(group_id="g", topics=topics), 1).topics[0].partitions[0]
    assert (answer.error_code, answer.committed_offset) == (ErrorCode.NOT_COORDINATOR, -1)


def test_a_deleted_topic_takes_its_commits_along():
    mock = MemoryMock(topics={"t": 1, "u": 1})
    client = mock.client()
    commit(mock, client, 9, 1)
    commit(mock, client, 9, 2, topic="u")
    mock.cluster.delete_topic("t")
    assert [row[:3] for row in committed(mock, client, 9)] == [("u", 0, 2)]


def test_groups_move_when_their_coordinator_stops():
    mock = MemoryMock(2, topics={"t": 1})
    before = coordinator_of(mock)
    commit(mock, mock.client(before), 9, 5)
    mock.server.stop_broker(before)
    client = mock.client(3 - before)
    assert client.call(FindCoordinatorRequest(key="g"), 3).node_id == 3 - before
    assert committed(mock, client, 9)[0][2] == 5


# Who may commit


@pytest.mark.parametrize("version", range(2, 11))
def test_members_commit_in_their_generation(version):
    mock = MemoryMock(topics={"t": 1}, version="4.3")
    client = mock.client()
    stable(Member(mock), Member(mock))
    stable(member := Member(mock, "h"))

    def error(who, generation, group="h", **options):
        found = {"member_id": who, "generation_id_or_member_epoch": generation, **options}
        return commit(mock, client, version, 1, group=group, **found)

    assert error(member.id, 1) == 0
    assert error(member.id, 2) is error(member.id, 0) is ErrorCode.ILLEGAL_GENERATION
    assert error("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(member.id, -1) is ErrorCode.ILLEGAL_GENERATION
    missing = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert error(member.id, 1, "none") is missing
    if version >= 7:
        assert error(member.id, 1, group_instance_id="i") is ErrorCode.UNKNOWN_MEMBER_ID
    member.leave()
    assert error("", -1) == 0
    assert error(member.id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_fenced_static_member_cannot_commit():
    mock = MemoryMock(topics={"t": 1})
    member = Member(mock, instance="i")
    stable(member)
    again = Member(mock, instance="i")
    again.take(again.join())
    assert member.commit(1) is ErrorCode.FENCED_INSTANCE_ID
    assert again.commit(1) == 0


def test_a_commit_for_what_is_not_there_makes_no_group():
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    assert commit(mock, client, 9, 1, topic="x") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert mock.groups.find("g") is None


def test_several_groups_in_one_question():
    mock = MemoryMock(3, topics={"t": 1})
    client = mock.client(coordinator_of(mock))
    names = [f"group-{n}" for n in range(20)]
    own = {name for name in names if coordinator_of(mock, name) == coordinator_of(mock)}
    for name in own:
        commit(mock, client, 9, 7, group=name)
    for version in (8, 9, 10):
        asked = [OffsetFetchRequest.Group(group_id=name, topics=None) for name in names]
        answers = client.call(OffsetFetchRequest(groups=asked), version).groups
        assert [answer.group_id for answer in answers] == names
        for answer in answers:
            offsets = [one.committed_offset for topic in answer.topics for one in topic.partitions]
            error = ErrorCode.of(answer.error_code)
            assert (error, offsets) == ((0, [7]) if answer.group_id in own else (ErrorCode.NOT_COORDINATOR, []))


# How long positions are kept


def offset_of(mock, group="g", topic="t"):
    rows = committed(mock, mock.client(), 9, group=group)
    return next((offset for name, _, offset, *_ in rows if name == topic), None)


def test_a_simple_consumer_keeps_its_positions_from_the_last_commit():
    mock = MemoryMock(topics={"t": 2, "u": 1})
    client = mock.client()
    commit(mock, client, 9, 1)
    commit(mock, client, 9, 1, topic="u")
    mock.clock.advance(WEEK / 2)
    commit(mock, client, 9, 2)
    mock.clock.advance(WEEK / 2 + CHECK)
    assert (offset_of(mock), offset_of(mock, topic="u")) == (2, None)
    mock.clock.advance(WEEK / 2)
    assert offset_of(mock) is None
    assert mock.groups.find("g") is None


def test_a_group_keeps_its_positions_while_it_has_members_and_a_week_more():
    mock = MemoryMock(topics={"t": 1, "u": 1})
    member = Member(mock, session=1800)
    stable(member)
    member.commit(1)
    member.commit(1, topic="u")
    while mock.clock.now() < WEEK + CHECK:
        mock.clock.advance(1000)
        assert member.heartbeat() == 0
    assert (offset_of(mock), offset_of(mock, topic="u")) == (1, None)  # nobody subscribes to u
    member.leave()
    mock.clock.advance(WEEK - CHECK)
    assert offset_of(mock) == 1
    mock.clock.advance(2 * CHECK)
    assert offset_of(mock) is None


def test_a_group_of_another_type_keeps_all_positions_while_it_has_members():
    mock = MemoryMock(topics={"u": 1}, config={"offsets.retention.minutes": "30"})
    member = Member(mock, session=1800, protocol_type="connect")
    stable(member)
    member.commit(1, topic="u")
    for _ in range(3):
        mock.clock.advance(1000)
        assert member.heartbeat() == 0
    assert offset_of(mock, topic="u") == 1


@pytest.mark.parametrize("version", [2, 3, 4])
def test_commits_of_old_versions_may_say_how_long_they_last(version):
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    commit(mock, client, version, 1, retention_time_ms=CHECK * 1000 // 2)
    commit(mock, client, version, 1, group="long", retention_time_ms=2 * WEEK * 1000)
    commit(mock, client, version, 1, group="default", retention_time_ms=-1)
    mock.clock.advance(CHECK)
    assert (offset_of(mock), offset_of(mock, "long"), offset_of(mock, "default")) == (None, 1, 1)
    mock.clock.advance(WEEK)
    assert (offset_of(mock, "long"), offset_of(mock, "default")) == (1, None)


def test_retention_can_be_configured():
    mock = MemoryMock(topics={"t": 1}, config={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"})
    commit(mock, mock.client(), 9, 1)
    mock.clock.advance(59)
    assert offset_of(mock) == 1
    mock.clock.advance(1)
    assert offset_of(mock) is None


def test_a_group_without_members_and_positions_goes():
    mock = MemoryMock()
    member = Member(mock)
    stable(member)
    member.leave()
    mock.clock.advance(CHECK)
    assert mock.groups.find("g") is None

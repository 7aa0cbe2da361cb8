"""Administration of groups: listing, describing and deleting them, and their internal topic."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkawire.protocol.messages.list_groups import ListGroupsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from tests.mockbroker.groups import Member, commit, coordinator, join, offset_delete, stable, subscription
from tests.mockbroker.raw import MemoryMock

NO_OPERATIONS = -(2**31)


@pytest.fixture
def mock():
    return MemoryMock(topics={"t": 2, "u": 2})


@pytest.fixture
def client(mock):
    return mock.client()


def describe(client, *groups, version=6, **options):
    return client.call(DescribeGroupsRequest(groups=list(groups), **options), version).groups


def listed(client, version=5, **filters):
    return {group.group_id: group for group in client.call(ListGroupsRequest(**filters), version).groups}


def delete(client, *groups, version=2):
    results = client.call(DeleteGroupsRequest(groups_names=list(groups)), version).results
    return [(result.group_id, ErrorCode.of(result.error_code)) for result in results]


@pytest.mark.parametrize("version", range(7))
def test_describe_a_stable_group(mock, client, version):
    static, dynamic = Member(mock, instance="i"), Member(mock, protocols={"range": subscription("u")})
    stable(static, dynamic)
    (found,) = describe(client, "g", version=version)
    assert (found.error_code, found.group_state, found.protocol_type, found.protocol_data) == (0, "Stable", "consumer", "range")
    assert [(member.member_id, member.group_instance_id) for member in found.members] == [
        (static.id, "i" if version >= 4 else None),
        (dynamic.id, None),
    ]
    assert {(member.client_id, member.client_host) for member in found.members} == {("raw", "/127.0.0.1")}
    assert [bytes(member.member_assignment) for member in found.members] == [static.id.encode(), dynamic.id.encode()]
    assert [bytes(member.member_metadata) for member in found.members] == [subscription("t"), subscription("u")]
    assert found.authorized_operations == NO_OPERATIONS


def test_describe_groups_without_a_generation(mock, client):
    client.call(commit("simple", 1), 9)
    member = Member(mock)
    stable(member)
    member.options["protocols"] = {"range": b"", "sticky": b""}
    Member(mock).join()
    simple, unsettled, *missing = describe(client, "simple", "g", "none", "none")
    assert (simple.group_state, simple.protocol_type, simple.members) == ("Empty", "", [])
    assert (unsettled.group_state, unsettled.protocol_data) == ("PreparingRebalance", "")
    assert [bytes(each.member_metadata) for each in unsettled.members] == [b"", b""]
    for found in missing:
        assert (found.error_code, found.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found.")
    (dead,) = describe(client, "none", version=5)
    assert (dead.error_code, dead.group_state, dead.members) == (0, "Dead", [])


@pytest.mark.parametrize(("release", "operations"), [("3.9", 0b1_0100_1000), ("4.3", 0b1101_0100_1000)])
def test_describe_what_is_allowed(release, operations):
    client = MemoryMock(version=release).client()
    client.call(commit("g", 1, topic="none"), 9)
    found, missing = describe(client, "g", "none", version=5, include_authorized_operations=True)
    assert found.authorized_operations == missing.authorized_operations == operations


def test_list_groups(mock, client):
    client.call(commit("simple", 1), 9)
    stable(Member(mock, "stable", protocol_type="connect"))
    Member(mock, "left").join()
    mock.clock.advance(1)
    assert set(listed(client, 0)) == {"simple", "stable", "left"}
    one = listed(client)["stable"]
    assert (one.protocol_type, one.group_state, one.group_type) == ("connect", "Stable", "classic")
    assert listed(client)["simple"].protocol_type == ""
    assert set(listed(client, states_filter=["EMPTY", "stable"])) == {"simple", "stable"}
    assert set(listed(client, states_filter=["CompletingRebalance"])) == {"left"}
    assert set(listed(client, types_filter=["Classic"])) == {"simple", "stable", "left"}
    assert set(listed(client, states_filter=["Stable"], types_filter=["share", "classic"])) == {"stable"}
    for filters in ({"states_filter": ["x"]}, {"types_filter": ["x"]}, {"types_filter": ["consumer"]}):
        assert listed(client, **filters) == {}


def test_each_broker_lists_its_own_groups():
    mock = MemoryMock(3, topics={"t": 1})
    names = [f"group-{n}" for n in range(20)]
    for name in names:
        Member(mock, name).commit(1)
    seen = [set(listed(mock.client(broker))) for broker in (1, 2, 3)]
    assert all(seen)
    assert sorted(name for names in seen for name in names) == sorted(names)
    for broker in (1, 2, 3):
        own = seen[broker - 1]
        assert {name for name in names if coordinator(mock, name) == broker} == own
        found = describe(mock.client(broker), *names)
        assert {group.group_id for group in found if group.error_code != ErrorCode.NOT_COORDINATOR} == own


@pytest.mark.parametrize("version", range(3))
def test_delete_groups(mock, client, version):
    client.call(commit("simple", 1), 9)
    stable(member := Member(mock))
    wanted = ("simple", "g", "none", "simple", "")
    assert delete(client, *wanted, version=version) == [
        ("simple", ErrorCode.NONE),
        ("g", ErrorCode.NON_EMPTY_GROUP),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ("", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert mock.groups.offsets.of_group("simple") == {}
    member.leave()
    assert delete(client, "g", version=version) == [("g", ErrorCode.NONE)]
    assert set(listed(client)) == set()


def test_deleting_a_group_forgets_the_ids_that_it_gave_out(mock, client):
    given = client.call(join(), 9).member_id
    assert delete(client, "g") == [("g", ErrorCode.NONE)]
    assert client.call(join("g", given), 9).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    mock.clock.advance(60)


def test_another_broker_coordinates():
    mock = MemoryMock(2)
    client = mock.client(3 - coordinator(mock))
    assert delete(client, "g") == [("g", ErrorCode.NOT_COORDINATOR)]
    assert describe(client, "g")[0].error_code == ErrorCode.NOT_COORDINATOR
    assert client.call(offset_delete("g", ("t", 0)), 0).error_code == ErrorCode.NOT_COORDINATOR
    assert client.call(join(), 9).error_code == ErrorCode.NOT_COORDINATOR


# Deleting offsets


def delete_offsets(client, group, *partitions):
    """The error as a whole and by partition."""
    answer = client.call(offset_delete(group, *partitions), 0)
    return ErrorCode.of(answer.error_code), {
        (topic.name, one.partition_index): ErrorCode.of(one.error_code) for topic in answer.topics for one in topic.partitions
    }


def test_delete_offsets_of_a_simple_group(mock, client):
    for partition in (0, 1):
        client.call(commit("g", 1, partition=partition), 9)
    error, found = delete_offsets(client, "g", ("t", 0), ("u", 0), ("t", 2), ("x", 0))
    assert error == 0
    assert found == {
        ("t", 0): ErrorCode.NONE,
        ("u", 0): ErrorCode.NONE,
        ("t", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("x", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert list(mock.groups.offsets.of_group("g")) == [TopicPartition("t", 1)]
    assert delete_offsets(client, "", ("t", 0)) == (ErrorCode.INVALID_GROUP_ID, {})
    assert delete_offsets(client, "none", ("t", 0)) == (ErrorCode.GROUP_ID_NOT_FOUND, {})


def test_offsets_of_topics_that_are_consumed_stay(mock, client):
    member = Member(mock)
    stable(member)
    member.commit(1)
    member.commit(1, topic="u")
    assert delete_offsets(client, "g", ("t", 0), ("u", 0)) == (
        ErrorCode.NONE,
        {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): ErrorCode.NONE},
    )
    member.leave()
    assert delete_offsets(client, "g", ("t", 0)) == (ErrorCode.NONE, {("t", 0): ErrorCode.NONE})


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\1\0\0\0\5"])
def test_members_whose_topics_cannot_be_known_may_consume_any(mock, client, metadata):
    stable(Member(mock, protocols={"range": metadata}))
    assert delete_offsets(client, "g", ("t", 0))[1] == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_subscriptions_of_newer_versions_begin_like_all(mock, client):
    stable(Member(mock, protocols={"range": b"\0\x63" + subscription("u")[2:] + b"more"}))
    _, found = delete_offsets(client, "g", ("t", 0), ("u", 0))
    assert found == {("t", 0): ErrorCode.NONE, ("u", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_groups_that_are_no_consumers_keep_their_offsets(mock, client):
    stable(Member(mock, protocol_type="connect"))
    assert delete_offsets(client, "g", ("t", 0)) == (ErrorCode.NON_EMPTY_GROUP, {})


# Where groups are kept


def topics_of(client):
    return {topic.name: topic for topic in client.call(MetadataRequest(topics=None), 8).topics}


def test_the_first_group_brings_the_topic_of_all():
    mock = MemoryMock(3, topics={"t": 1})
    client = mock.client()
    assert set(topics_of(client)) == {"t"}
    found = client.call(FindCoordinatorRequest(key="g"), 3)
    offsets = topics_of(client)["__consumer_offsets"]
    assert (offsets.is_internal, len(offsets.partitions)) == (True, 50)
    assert all(len(partition.replica_nodes) == 3 for partition in offsets.partitions)
    assert offsets.partitions[ord("g") % 50].leader_id == found.node_id  # Java's hash of one letter is its number
    assert not topics_of(client)["t"].is_internal
    client.call(FindCoordinatorRequest(key="transactional", key_type=1), 3)
    assert topics_of(client)["__transaction_state"].is_internal


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_an_internal_topic_that_is_asked_for_is_created_like_by_a_coordinator(topic):
    mock, asked = MemoryMock(3), MetadataRequest(topics=[MetadataRequest.Topic(name=topic)])
    client = mock.client()
    (first,) = client.call(asked, 8).topics
    assert (first.error_code, first.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    (then,) = client.call(asked, 8).topics
    assert (then.error_code, len(then.partitions), len(then.partitions[0].replica_nodes)) == (0, 50, 3)
    assert mock.cluster.topic(topic).configs["cleanup.policy"] == "compact"


def test_groups_follow_the_leaders_of_a_topic_of_somebodys_own_making():
    mock = MemoryMock(2)
    mock.cluster.create_topic("__consumer_offsets", 1)
    mock.cluster.config["group.initial.rebalance.delay.ms"] = "3000"
    joining = Member(mock).join()
    mock.cluster.move_leader("__consumer_offsets", 0, 2)
    mock.clock.advance()
    assert joining.result().error_code == ErrorCode.NOT_COORDINATOR


def test_with_the_topic_of_groups_go_all_groups(mock, client):
    stable(Member(mock))
    mock.cluster.delete_topic("__consumer_offsets")
    assert listed(client) == {}
    assert mock.groups.find("g") is None


def test_coordinators_of_negative_hashes():
    """Kafka takes the absolute value: "my-group".hashCode() is -1906497762."""
    assert MemoryMock().cluster.coordinating_partition("my-group").index == 12


def test_without_replicas_there_is_no_coordinator():
    mock = MemoryMock(2, config={"offsets.topic.replication.factor": "1"})
    owner = coordinator(mock)
    mock.server.stop_broker(owner)
    client = mock.client(3 - owner)
    for version in range(4):
        found = client.call(FindCoordinatorRequest(key="g"), version)
        assert (found.error_code, found.node_id, found.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
    for version in (4, 5, 6):
        (found,) = client.call(FindCoordinatorRequest(coordinator_keys=["g"]), version).coordinators
        assert (found.error_code, found.node_id, found.key) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "g")
    mock.server.start_broker(owner)
    assert client.call(FindCoordinatorRequest(key="g"), 3).node_id == owner

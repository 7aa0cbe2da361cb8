"""Groups of several kinds, the states of classic groups, and the store behind groups and logs."""

from __future__ import annotations

import pytest

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.heartbeat import HeartbeatRequest
from kafkawire.protocol.messages.list_groups import ListGroupsRequest
from mockbroker import Cluster, MemoryServer
from mockbroker.data import Record, append_records
from mockbroker.groups.classic_group import ClassicGroupState
from mockbroker.groups.group import Group, GroupProtocol
from mockbroker.state.store import MemoryStore
from tests.mockbroker.groups import commit
from tests.mockbroker.raw import ManualClock, MemoryMock


class ToyGroup(Group):
    """A group of a kind of its own: its one member is there or not."""

    type = "toy"
    member = ""
    loads = 0

    @property
    def state_name(self):
        return "Playing" if self.member else "Empty"

    @property
    def is_empty(self):
        return not self.member

    @property
    def member_ids(self):
        return {self.member} - {""}

    def check_commit(self, member_id, instance_id, generation):
        return None if member_id == self.member else ErrorCode.UNKNOWN_MEMBER_ID

    def check_offset_delete(self):
        return None

    def is_subscribed(self, topic):
        return False

    def unused_since(self, committed):
        return None if self.member else committed.committed_at

    def unload(self):
        self.member = ""


class ToyProtocol(GroupProtocol[ToyGroup]):
    group_class = ToyGroup

    def new_group(self, group_id, now):
        return ToyGroup(group_id)

    def keep_member(self, group, member_id, now):
        assert member_id == group.member

    def forget(self, group):
        pass

    def load(self, group, now):
        group.loads += 1


@pytest.fixture
def mock():
    mock = MemoryMock(2, topics={"t": 1})
    mock.groups.protocols["toy"] = ToyProtocol()
    return mock


@pytest.fixture
def toy(mock):
    mock.cluster.move_coordinator("g", 1)
    return mock.groups.create(mock.groups.protocols["toy"], "g", 0.0)


def commit_code(client, member):
    answer = client.call(commit("g", 7, member=member, generation=1), 8)
    return ErrorCode.of(answer.topics[0].partitions[0].error_code)


def test_a_group_of_another_kind_is_listed_under_its_type(mock, toy):
    toy.member = "m"
    (listed,) = mock.client().call(ListGroupsRequest(types_filter=["toy"]), 5).groups
    assert (listed.group_id, listed.group_type, listed.group_state) == ("g", "toy", "Playing")


def test_requests_of_the_classic_protocol_do_not_see_it(mock, toy):
    toy.member = "m"
    answer = mock.client().call(HeartbeatRequest(group_id="g", member_id="m", generation_id=0), 4)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_it_decides_whose_commits_it_takes_and_keeps_its_offsets_when_its_members_are_gone(mock, toy):
    toy.member = "m"
    assert commit_code(mock.client(), "other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_code(mock.client(), "m") == ErrorCode.NONE
    toy.member = ""
    assert mock.groups.offsets.of_group("g")[TopicPartition("t", 0)].offset == 7


def test_it_follows_its_coordinator(mock, toy):
    toy.member = "m"
    mock.cluster.move_coordinator("g", 2)
    mock.clock.advance(1)
    assert (toy.member, toy.loads) == ("", 1)


def test_only_empty_groups_are_deleted_and_their_offsets_with_them(mock, toy):
    assert commit_code(mock.client(), "") == ErrorCode.NONE
    toy.member = "m"
    assert mock.groups.delete("g") is ErrorCode.NON_EMPTY_GROUP
    with pytest.raises(BrokerError, match="has members, m"):
        mock.groups.commit("g", TopicPartition("t", 0), 8, 0.0)
    toy.member = ""
    assert mock.groups.delete("g") is None
    assert (mock.groups.find("g"), mock.groups.offsets.of_group("g")) == (None, {})


def test_a_classic_group_goes_only_where_its_states_lead(mock):
    group = mock.groups.find_or_create("g", 0.0)
    with pytest.raises(RuntimeError, match="cannot go from Empty to Stable"):
        group.to(ClassicGroupState.STABLE, 0.0)
    assert group.state is ClassicGroupState.EMPTY


class KeptStore(MemoryStore):
    """A store that outlives its cluster."""

    def __init__(self):
        self.kept = {}

    def log(self, topic_id, partition):
        return self.kept.setdefault((topic_id, partition), [])

    def delete_log(self, topic_id, partition):
        del self.kept[topic_id, partition]

    def table(self, name, part=""):
        return self.kept.setdefault((name, part), {})

    def delete_table(self, name, part=""):
        del self.kept[name, part]


def test_logs_groups_and_offsets_are_in_the_store_of_the_cluster():
    cluster = Cluster(1)
    store = cluster.store = KeptStore()
    groups = MemoryServer(cluster, ManualClock()).groups
    topic = cluster.create_topic("t", 1)
    append_records(cluster, "t", 0, [Record("t", b"v")], 0.0)
    groups.commit("g", TopicPartition("t", 0), 7, 0.0)
    assert [one.last_offset for one in store.kept[topic.id, 0]] == [0]
    assert store.kept["committed offsets", "g"][TopicPartition("t", 0)].offset == 7
    assert "g" in store.kept["classic groups", ""]
    cluster.delete_topic("t")
    assert (topic.id, 0) not in store.kept
    assert store.kept["committed offsets", "g"] == {}
    groups.delete("g")
    assert ("committed offsets", "g") not in store.kept
    assert store.kept["classic groups", ""] == {}

"""Members of a classic group: joining, agreeing on a protocol, leaving."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkawire.protocol.messages.leave_group import LeaveGroupRequest
from tests.mockbroker.groups import REBALANCE, SESSION, Member, heartbeat, join, leave, stable, state, subscription, sync
from tests.mockbroker.raw import MemoryMock


@pytest.fixture
def mock():
    return MemoryMock(topics={"t": 2})


@pytest.mark.parametrize("version", range(4))
def test_before_version_4_members_are_in_at_once(mock, version):
    joined = mock.client().call(join(), version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.leader == joined.member_id
    assert joined.member_id.startswith("raw-")
    assert [(member.member_id, bytes(member.metadata)) for member in joined.members] == [(joined.member_id, subscription("t"))]


@pytest.mark.parametrize("version", range(4, 10))
def test_since_version_4_members_need_an_id_first(mock, version):
    client = mock.client()
    asked = client.call(join(), version)
    assert (asked.error_code, asked.generation_id, asked.members) == (ErrorCode.MEMBER_ID_REQUIRED, -1, [])
    assert state(mock) == ("Empty", set())
    joined = client.call(join("g", asked.member_id), version)
    assert (joined.error_code, joined.generation_id, joined.member_id) == (0, 1, asked.member_id)
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert not joined.skip_assignment


@pytest.mark.parametrize("version", range(10))
def test_refused_joins(mock, version):
    client = mock.client()

    def error(request):
        return ErrorCode.of(client.call(request, version).error_code)

    assert error(join("")) is ErrorCode.INVALID_GROUP_ID
    for session in (5.999, 1800.001):
        assert error(join(session=session)) is ErrorCode.INVALID_SESSION_TIMEOUT
    assert error(join("g", "nobody")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(join(protocols={})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(join(protocol_type="")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    stable(Member(mock))
    assert error(join(protocol_type="connect")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(join(protocols={"sticky": b""})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(join("g", "nobody")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_given_id_is_for_a_dynamic_member(mock):
    client = mock.client()
    given = client.call(join(), 9).member_id
    assert client.call(join("g", given, instance="i"), 9).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_second_member_makes_the_first_rejoin(mock):
    first, second = Member(mock), Member(mock, protocols={"range": subscription("u")})
    stable(first)
    joining = second.join()
    assert state(mock) == ("PreparingRebalance", {first.id, second.id})
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert first.sync().result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert first.commit(1) == 0
    led = first.take(first.join())
    followed = second.take(joining)
    assert state(mock) == ("CompletingRebalance", {first.id, second.id})
    assert (led.generation_id, led.leader, followed.leader, followed.members) == (2, first.id, first.id, [])
    assert {member.member_id: bytes(member.metadata) for member in led.members} == {
        first.id: subscription("t"),
        second.id: subscription("u"),
    }
    waiting = second.sync()
    assert not waiting.done
    assert first.commit(1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bytes(first.sync({first.id: b"1", second.id: b"2"}).result().assignment) == b"1"
    assert bytes(waiting.result().assignment) == b"2"
    assert state(mock) == ("Stable", {first.id, second.id})
    assert bytes(second.sync().result().assignment) == b"2"
    assert first.heartbeat() == second.heartbeat() == 0


def test_whom_the_leader_forgets_gets_nothing(mock):
    first, second = Member(mock), Member(mock)
    stable(first, second)
    joining = first.join(), second.join()
    for member, pending in zip((first, second), joining, strict=True):
        member.take(pending)
    waiting = second.sync()
    first.sync({first.id: b"all", "nobody": b"x"})
    assert bytes(waiting.result().assignment) == b""


def test_who_rejoins_with_nothing_new_gets_the_generation_that_there_is(mock):
    leader, follower = Member(mock), Member(mock)
    stable(leader, follower)
    again = follower.join().result()
    assert (again.generation_id, again.leader, again.members) == (2, leader.id, [])
    pending = leader.join()  # a leader may know of something that its metadata do not show
    assert not pending.done
    assert state(mock)[0] == "PreparingRebalance"
    follower.take(follower.join())
    leader.take(pending)
    once_more = leader.join().result()  # as if the first answer had been lost
    assert (once_more.generation_id, len(once_more.members)) == (3, 2)
    follower.options["protocols"] = {"range": b"new"}
    pending = follower.join()
    assert not pending.done
    leader.take(leader.join())
    assert follower.take(pending).generation_id == 4


def test_a_rebalance_sends_away_who_waits_for_an_assignment(mock):
    leader, follower = Member(mock), Member(mock)
    stable(leader, follower)
    for member, pending in [(member, member.join()) for member in (leader, follower)]:
        member.take(pending)
    waiting = follower.sync()
    Member(mock).join()
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    (found,) = mock.client().call(DescribeGroupsRequest(groups=["g"]), 5).groups
    assert {bytes(member.member_assignment) for member in found.members} == {b""}


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [
        (["ab", "ba"], "a"),
        (["ab", "ba", "ba"], "b"),
        (["abc", "bc", "cb"], "b"),
        (["ac", "bc"], "c"),
        (["range,sticky", "sticky,range"], "sticky"),  # a tie goes by the order of Java's hash map
        (["cooperative-sticky,range", "range,cooperative-sticky"], "range"),
    ],
)
def test_the_protocol_that_most_members_like_best(mock, offers, chosen):
    names = [offer.split(",") if "," in offer else list(offer) for offer in offers]
    members = [Member(mock, protocols=dict.fromkeys(offered, b"")) for offered in names]
    joining = [member.join() for member in members]
    members[0].take(joining[0])
    joining[0] = members[0].join()
    assert {pending.result().protocol_name for pending in joining} == {chosen}


def test_refused_syncs(mock):
    client = mock.client()
    member = Member(mock)

    def error(group="g", who="", generation=1, version=5, **options):
        return ErrorCode.of(client.call(sync(group, who or member.id, generation, **options), version).error_code)

    assert error("") is ErrorCode.INVALID_GROUP_ID
    assert error(who="m") is ErrorCode.UNKNOWN_MEMBER_ID
    stable(member)
    assert error(who="m") is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(generation=2) is ErrorCode.ILLEGAL_GENERATION
    assert error(instance="i") is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(protocol_type="connect") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(protocol="sticky") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(protocol=None) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(protocol=None, version=4) == 0
    assert [error(version=version) for version in range(6)] == [0] * 6


def test_refused_heartbeats(mock):
    client = mock.client()
    member = Member(mock)

    def error(group="g", who="", generation=1, version=4, **options):
        return ErrorCode.of(client.call(heartbeat(group, who or member.id, generation, **options), version).error_code)

    assert error("") is ErrorCode.INVALID_GROUP_ID
    assert error(who="m") is ErrorCode.UNKNOWN_MEMBER_ID
    stable(member)
    assert error(who="m") is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(generation=0) is ErrorCode.ILLEGAL_GENERATION
    assert error(instance="i") is ErrorCode.UNKNOWN_MEMBER_ID
    assert [error(version=version) for version in range(5)] == [0] * 5


def test_leaving(mock):
    first, second = Member(mock), Member(mock)
    stable(first, second)
    assert second.leave() == 0
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    stable(first)
    assert first.leave() == 0
    assert state(mock) == ("Empty", set())
    assert first.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.join().result().error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3))
def test_leaving_alone_before_version_3(mock, version):
    client = mock.client()
    member = Member(mock)
    stable(member)
    for group, who, error in (("", "m", 24), ("none", "m", 25), ("g", "m", 25), ("g", member.id, 0), ("g", member.id, 25)):
        assert client.call(LeaveGroupRequest(group_id=group, member_id=who), version).error_code == error


@pytest.mark.parametrize("version", [3, 4, 5])
def test_leaving_together(mock, version):
    client = mock.client()
    assert client.call(leave("", ("m", None)), version).error_code == ErrorCode.INVALID_GROUP_ID
    dynamic, static = Member(mock), Member(mock, instance="i")
    stable(dynamic, static)
    given = client.call(join(), 9).member_id
    leavers = [(dynamic.id, None), ("", "i"), (given, None), ("nobody", None), ("", "j"), ("", None), (static.id, "i")]
    answer = client.call(leave("g", *leavers), version)
    assert answer.error_code == 0
    assert [(member.member_id, member.group_instance_id) for member in answer.members] == leavers
    assert [member.error_code for member in answer.members] == [0, 0, 0, 25, 25, 25, 25]
    assert state(mock) == ("Empty", set())
    answer = client.call(leave("none", *leavers), version)
    assert {member.error_code for member in answer.members} == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_the_last_that_is_missing_leaves(mock):
    first, second = Member(mock), Member(mock)
    stable(first)
    joining = second.join()
    assert first.leave() == 0
    assert second.take(joining).leader == second.id


def test_leaving_ends_a_join_that_waits(mock):
    first, second = Member(mock), Member(mock)
    stable(first)
    joining = second.join()
    assert mock.client().call(leave("g", (second.id, None)), 3).members[0].error_code == 0
    assert joining.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_is_full():
    mock = MemoryMock(config={"group.max.size": "2"})
    members = [Member(mock) for _ in range(2)]
    stable(*members)
    refused = mock.client().call(join(), 9)
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert members[1].join().result().error_code == 0
    assert state(mock) == ("Stable", {member.id for member in members})


def test_in_a_rebalance_a_full_group_keeps_who_comes_first():
    mock = MemoryMock(config={"group.max.size": "2"})
    members = [Member(mock) for _ in range(2)]
    stable(*members)
    leader, late = members
    leading = leader.join()
    newcomer = Member(mock)
    joining = newcomer.join()
    assert late.join().result().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    mock.clock.advance(REBALANCE)
    assert len(leader.take(leading).members) == 2
    newcomer.take(joining)
    assert late.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# Static members


def test_a_static_member_comes_back_without_a_rebalance(mock):
    leader, static = Member(mock), Member(mock, instance="i")
    stable(leader, static)
    old = static.id
    static.id = ""
    back = static.take(static.join())
    assert back.member_id != old
    assert back.member_id.startswith("i-")
    assert (back.generation_id, back.leader, back.members) == (2, leader.id, [])
    assert bytes(static.sync().result().assignment) == old.encode()
    assert leader.heartbeat() == static.heartbeat() == 0
    for error in (
        mock.client().call(heartbeat("g", old, 2, instance="i"), 4).error_code,
        mock.client().call(sync("g", old, 2, instance="i"), 5).error_code,
        mock.client().call(join("g", old, instance="i"), 9).error_code,
        mock.client().call(leave("g", (old, "i")), 5).members[0].error_code,
    ):
        assert error == ErrorCode.FENCED_INSTANCE_ID
    assert mock.client().call(heartbeat("g", old, 2), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_static_leader_comes_back(mock, version):
    static, other = Member(mock, instance="i"), Member(mock)
    stable(static, other)
    old, static.id = static.id, ""
    back = static.take(static.join(version))
    assert back.skip_assignment == (version >= 9)
    assert (back.leader, len(back.members)) == ((static.id, 2) if version >= 9 else (old, 0))


def test_a_static_member_comes_back_with_another_choice(mock):
    static = Member(mock, instance="i", protocols={"range": b"", "sticky": b""})
    stable(static)
    static.id, static.options["protocols"] = "", {"sticky": b"", "range": b""}
    back = static.take(static.join())
    assert (back.generation_id, back.protocol_name, back.skip_assignment) == (2, "sticky", False)


def test_a_static_member_comes_twice_in_one_rebalance(mock):
    first, static = Member(mock), Member(mock, instance="i")
    stable(first)
    joining = static.join()
    again = Member(mock, instance="i")
    replacing = again.join()
    fenced = joining.result()
    assert (fenced.error_code, fenced.protocol_name) == (ErrorCode.FENCED_INSTANCE_ID, None)
    first.take(first.join())
    again.take(replacing)
    waiting = again.sync()
    third = Member(mock, instance="i")
    assert not third.join().done
    assert waiting.result().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_static_members_keep_their_place_in_a_rebalance(mock):
    leader, static = Member(mock), Member(mock, instance="i", session=10 * SESSION, rebalance=SESSION)
    leader.options["rebalance"] = SESSION
    stable(leader, static)
    pending = leader.join()
    mock.clock.advance(SESSION)
    assert {member.member_id for member in leader.take(pending).members} == {leader.id, static.id}


def test_cooperative_members_stay_over_two_rebalances(mock):
    """KIP-429: the broker sees only that all rejoin, with what they own, and that the leader asks for a second round."""
    first, second = (Member(mock, protocols={"cooperative-sticky": subscription("t")}) for _ in range(2))
    first.take(first.join())
    first.sync({first.id: b"both"})
    joining = second.join()
    first.take(first.join())
    second.take(joining)
    waiting = second.sync()
    assert bytes(first.sync({first.id: b"one"}).result().assignment) == b"one"
    assert bytes(waiting.result().assignment) == b""
    first.options["protocols"] = {"cooperative-sticky": subscription("t") + b"owned"}
    pending = first.join()
    assert second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    second.take(second.join())
    assert first.take(pending).generation_id == 3
    assert state(mock)[1] == {first.id, second.id}

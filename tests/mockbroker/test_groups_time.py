"""Timeouts of a classic group, under a clock that the test holds, and changes of the coordinator."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest
from mockbroker import MockCluster
from tests.mockbroker.groups import REBALANCE, SESSION, Member, coordinator, heartbeat, join, leave, stable, state, sync
from tests.mockbroker.raw import MemoryMock, TcpClient, fetch_request

BEFORE = 0.01
"""Seconds that end before a timer does."""


@pytest.fixture
def mock():
    return MemoryMock(topics={"t": 2})


def test_a_member_that_is_not_heard_of_is_out(mock):
    first, second = Member(mock), Member(mock)
    stable(first, second)
    mock.clock.advance(SESSION - BEFORE)
    assert first.heartbeat() == 0
    assert state(mock) == ("Stable", {first.id, second.id})
    mock.clock.advance(BEFORE)
    assert state(mock) == ("PreparingRebalance", {first.id})
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    stable(first)
    mock.clock.advance(SESSION)
    assert state(mock) == ("Empty", set())


def test_commits_keep_a_session_too(mock):
    member = Member(mock)
    stable(member)
    for _ in range(3):
        mock.clock.advance(SESSION - BEFORE)
        assert member.commit(1) == 0
    mock.clock.advance(SESSION)
    assert member.commit(1, topic="none") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert member.commit(1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_is_not_used_expires(mock):
    given = mock.client().call(join(), 9).member_id
    mock.clock.advance(SESSION)
    assert mock.client().call(join("g", given), 9).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_is_not_used_holds_up_a_rebalance_only_until_it_expires(mock):
    member = Member(mock, session=2 * SESSION)
    stable(member)
    mock.client().call(join(), 9)
    pending = member.join()
    assert not pending.done
    mock.clock.advance(SESSION)
    assert member.take(pending).generation_id == 2


def test_who_waits_in_a_rebalance_is_alive(mock):
    first, second = Member(mock), Member(mock, session=REBALANCE * 3)
    stable(first, second)
    pending = first.join()
    mock.clock.advance(REBALANCE - BEFORE)
    assert not pending.done
    mock.clock.advance(BEFORE)
    assert [member.member_id for member in first.take(pending).members] == [first.id]
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_counts(mock):
    members = [Member(mock, rebalance=REBALANCE), Member(mock, rebalance=2 * REBALANCE, session=5 * REBALANCE)]
    stable(*members)
    pending = members[0].join()
    mock.clock.advance(2 * REBALANCE - BEFORE)
    assert not pending.done
    mock.clock.advance(BEFORE)
    members[0].take(pending)


def test_in_version_0_the_session_is_the_rebalance_timeout_too(mock):
    one = mock.client().call(join("old"), 0).member_id
    mock.client().send(join("old"), 0)
    mock.clock.advance(SESSION)
    assert state(mock, "old")[0] == "CompletingRebalance"
    assert one not in state(mock, "old")[1]


def test_a_leader_that_does_not_rejoin_is_replaced(mock):
    leader, follower = Member(mock, session=3 * REBALANCE), Member(mock)
    stable(leader, follower)
    follower.options["protocols"] = {"range": b"new"}
    pending = follower.join()
    mock.clock.advance(REBALANCE)
    assert follower.take(pending).leader == follower.id


def test_static_members_that_do_not_rejoin_make_the_rebalance_wait_for_their_sessions(mock):
    static = Member(mock, instance="i", session=2.5 * REBALANCE)
    stable(static)
    given = mock.client().call(join(), 9).member_id
    pending = mock.client().send(join("g", given), 9)
    assert not pending.done
    mock.clock.advance(REBALANCE)
    assert pending.result().generation_id == 2
    assert state(mock)[1] == {static.id, given}


def test_a_rebalance_in_which_nobody_rejoins_goes_on(mock):
    static, dynamic = Member(mock, instance="i", session=2.5 * REBALANCE), Member(mock)
    stable(static, dynamic)
    assert dynamic.leave() == 0
    mock.clock.advance(REBALANCE)
    assert state(mock) == ("PreparingRebalance", {static.id})
    mock.clock.advance(REBALANCE)
    assert state(mock) == ("PreparingRebalance", {static.id})
    mock.clock.advance(REBALANCE)
    assert state(mock) == ("Empty", set())


def test_who_does_not_ask_for_the_assignment_is_out(mock):
    leader, follower = Member(mock), Member(mock, session=3 * REBALANCE)
    leader.options["session"] = 3 * REBALANCE
    stable(leader, follower)
    pending = leader.join()
    follower.take(follower.join())
    leader.take(pending)
    leader.sync({leader.id: b"all"})
    mock.clock.advance(REBALANCE - BEFORE)
    assert state(mock) == ("Stable", {leader.id, follower.id})
    mock.clock.advance(BEFORE)
    assert state(mock) == ("PreparingRebalance", {leader.id})


@pytest.mark.parametrize(
    ("version", "name", "told", "expelled"),
    [
        ("1.0", "AwaitingSync", ErrorCode.REBALANCE_IN_PROGRESS, False),
        ("1.1", "CompletingRebalance", ErrorCode.REBALANCE_IN_PROGRESS, False),
        ("2.5", "CompletingRebalance", ErrorCode.REBALANCE_IN_PROGRESS, False),
        ("2.6", "CompletingRebalance", ErrorCode.NONE, False),
        ("2.7", "CompletingRebalance", ErrorCode.NONE, False),
        ("2.8", "CompletingRebalance", ErrorCode.NONE, True),
        ("4.3", "CompletingRebalance", ErrorCode.NONE, True),
    ],
)
def test_a_member_that_does_not_sync_is_expelled_where_brokers_do_so(version, name, told, expelled):
    mock = MemoryMock(version=version)
    client = mock.client()
    member = client.call(join(session=3 * REBALANCE), 2).member_id

    def described():
        (group,) = client.call(DescribeGroupsRequest(groups=["g"]), 0).groups
        return group.group_state, [each.member_id for each in group.members]

    assert described() == (name, [member])
    mock.clock.advance(REBALANCE - BEFORE)
    assert client.call(heartbeat("g", member, 1), 0).error_code == told
    mock.clock.advance(BEFORE)
    assert described() == (("Empty", []) if expelled else (name, [member]))
    mock.clock.advance(3 * REBALANCE)
    assert described() == ("Empty", [])


def test_a_leader_that_brings_no_assignment_is_out(mock):
    leader, follower = Member(mock, session=3 * REBALANCE), Member(mock)
    stable(leader, follower)
    pending = leader.join()
    follower.take(follower.join())
    leader.take(pending)
    waiting = follower.sync()
    mock.clock.advance(REBALANCE)
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert state(mock) == ("PreparingRebalance", {follower.id})


@pytest.fixture
def impatient(mock):
    """A static member that gives nobody any time for a rebalance."""
    static = Member(mock, instance="i")
    stable(static)
    static.options["rebalance"] = 0
    rejoined, first = static.client.frame(join("g", static.id, **static.options), 9)
    synced, second = static.client.frame(sync("g", static.id, 2, instance="i"), 5)
    static.client.write(first + second)  # in one, or its time for the second would be over
    assert (rejoined.result().generation_id, synced.result().error_code) == (2, 0)
    return static


def test_a_rebalance_timeout_of_nothing_holds_nobody_up(mock, impatient):
    dynamic = Member(mock, rebalance=0)
    pending = dynamic.join()
    mock.clock.advance(BEFORE)
    assert dynamic.take(pending).leader == dynamic.id
    mock.clock.advance(BEFORE)
    assert dynamic.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID  # it had no time for the assignment either


def test_a_rebalance_without_time_or_members_leaves_time_for_others(mock, impatient):
    dynamic = Member(mock, rebalance=0)
    dynamic.join()
    mock.client().call(leave("g", (dynamic.id, None)), 5)
    mock.clock.advance(BEFORE)
    assert state(mock) == ("PreparingRebalance", {impatient.id})


def test_new_members_may_wait_for_five_minutes(mock):
    slow = Member(mock, rebalance=900, session=1000)
    stable(slow)
    pending = Member(mock, rebalance=900).join()
    mock.clock.advance(300 - BEFORE)
    assert not pending.done
    mock.clock.advance(BEFORE)
    assert pending.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_lost_connection_does_not_end_a_member(mock):
    first, second = Member(mock), Member(mock)
    stable(first)
    second.join()
    second.client.disconnect()
    first.take(first.join())
    assert state(mock) == ("CompletingRebalance", {first.id, second.id})


def test_while_time_stands_still_groups_begin_all_the_same():
    """Over TCP, by a request that was held up by another: nothing happens afterwards that would wake the broker."""
    with MockCluster(1, topics={"t": 1}) as cluster, TcpClient(cluster.brokers[1]) as client:
        cluster.clock.hold()
        client.send(fetch_request(max_wait_ms=60_000), 12)
        joining = client.send(join(), 0)
        cluster.journal.wait_for("Fetch")
        cluster.produce("t", b"v")
        while not joining.done:
            client.take(client.read())
        member, generation = joining.result().member_id, joining.result().generation_id
        assert generation == 1
        cluster.clock.advance(REBALANCE)
        assert client.call(heartbeat("g", member, generation), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


# The delay of a group's first rebalance (KIP-134)


def test_the_first_rebalance_is_delayed_as_long_as_members_come():
    mock = MemoryMock(config={"group.initial.rebalance.delay.ms": "3000"})
    first, second, third = (Member(mock, rebalance=7) for _ in range(3))
    one = first.join()
    mock.clock.advance(2)
    two = second.join()
    mock.clock.advance(3)
    assert not one.done  # one delay after the first, and one more since somebody came
    three = third.join()
    mock.clock.advance(1 - BEFORE)
    assert not one.done
    mock.clock.advance(1 + BEFORE)
    assert {pending.result().generation_id for pending in (one, two, three)} == {1}
    fourth = Member(mock)
    assert not fourth.join().done
    assert first.heartbeat() is not ErrorCode.NONE


def test_a_group_that_is_empty_again_is_delayed_again():
    mock = MemoryMock(config={"group.initial.rebalance.delay.ms": "3000"})
    member = Member(mock)
    pending = member.join()
    mock.clock.advance(3)
    member.take(pending)
    member.leave()
    member.id = ""
    pending = member.join()
    mock.clock.advance(3 - BEFORE)
    assert not pending.done
    mock.clock.advance(BEFORE)
    assert member.take(pending).generation_id == 3


# Coordinators that move


def move(mock):
    """Make the other broker the coordinator; its id."""
    other = 3 - coordinator(mock)
    mock.cluster.move_coordinator("g", other)
    mock.clock.advance()
    return other


def test_a_group_follows_its_coordinator():
    mock = MemoryMock(2, topics={"t": 1})
    leader, follower = Member(mock), Member(mock, instance="i")
    stable(leader, follower)
    assert leader.commit(5) == 0
    mock.clock.advance(SESSION - BEFORE)
    new = move(mock)
    assert leader.heartbeat() is ErrorCode.NOT_COORDINATOR
    assert leader.commit(6) is ErrorCode.NOT_COORDINATOR
    mock.clock.advance(SESSION - BEFORE)  # sessions begin anew
    for member in (leader, follower):
        member.client = mock.client(new)
        assert member.heartbeat() == 0
        assert bytes(member.sync().result().assignment) == member.id.encode()
    mock.clock.advance(SESSION)
    assert state(mock) == ("Empty", set())


def test_who_waits_is_sent_to_the_new_coordinator():
    mock = MemoryMock(2)
    leader, follower, third = Member(mock), Member(mock), Member(mock)
    stable(leader, follower)
    leading = leader.join()
    joining = third.join()
    new = move(mock)
    assert leading.result().error_code == joining.result().error_code == ErrorCode.NOT_COORDINATOR
    assert state(mock) == ("Stable", {leader.id, follower.id})  # what was not brought to an end never was
    leader.client, follower.client = mock.client(new), mock.client(new)
    pending = leader.join()
    follower.take(follower.join())
    assert leader.take(pending).generation_id == 3
    waiting = follower.sync()
    move(mock)
    assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR
    assert state(mock) == ("Stable", {leader.id, follower.id})


def test_a_new_coordinator_knows_the_static_members_that_came_back():
    mock = MemoryMock(2)
    static = Member(mock, instance="i")
    stable(static)
    old, static.id = static.id, ""
    static.take(static.join())
    static.client = mock.client(move(mock))
    assert static.heartbeat() == 0
    assert bytes(static.sync().result().assignment) == old.encode()


def test_a_new_coordinator_knows_since_when_a_group_is_empty():
    config = {"offsets.retention.minutes": "15", "group.initial.rebalance.delay.ms": "3000"}
    mock = MemoryMock(2, topics={"t": 1}, config=config)
    member = Member(mock)
    pending = member.join()
    mock.clock.advance(3)
    member.take(pending)
    member.sync()
    member.commit(1)
    member.leave()
    mock.clock.advance(500)
    Member(mock).join()  # what comes of it is lost
    move(mock)
    mock.clock.advance(600)
    assert mock.groups.find("g") is not None
    mock.clock.advance(600)
    assert mock.groups.find("g") is None


def test_without_a_coordinator_time_stands_still():
    mock = MemoryMock(topics={"t": 1})
    member = Member(mock)
    stable(member)
    mock.server.stop_broker(1)
    mock.clock.advance(10 * SESSION)
    mock.server.start_broker(1)
    mock.clock.advance(SESSION - BEFORE)
    member.client = mock.client()
    assert member.heartbeat() == 0


def test_a_stopped_coordinator_gives_its_groups_away():
    mock = MemoryMock(2, topics={"t": 1})
    member = Member(mock)
    stable(member)
    old = coordinator(mock)
    mock.server.stop_broker(old)
    assert member.client.closed
    member.client = mock.client(3 - old)
    assert member.heartbeat() == 0
    assert member.commit(1) == 0

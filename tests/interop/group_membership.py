"""Conversations about the members of a group: joining, syncing, heartbeats, leaving, and timeouts."""

from __future__ import annotations

import itertools

from tests.interop.conversations import Scenarios, Talk
from tests.interop.parity import request
from tests.mockbroker.groups import commit, heartbeat, join, leave, offset_delete, subscription, sync

SCENARIOS = Scenarios()


@SCENARIOS.add
def first_member(talk: Talk, group: str) -> None:
    for version in range(4):
        joined = talk.ask(join(f"{group}-{version}"), version)
        talk.ask(heartbeat(f"{group}-{version}", joined.member_id, 1), 0, 4)
        talk.ask(heartbeat(f"{group}-{version}", joined.member_id, 2), 4)
        talk.ask(sync(f"{group}-{version}", joined.member_id, 1, {joined.member_id: b"part"}), version)
    for version in range(4, 10):
        member = talk.ask(join(f"{group}-{version}"), version).member_id
        joined = talk.ask(join(f"{group}-{version}", member), version)
        talk.ask(sync(f"{group}-{version}", member, joined.generation_id, {member: b"part", "else": b"x"}), min(version, 5))
        talk.ask(sync(f"{group}-{version}", member, joined.generation_id), 3)


@SCENARIOS.add
def refused_joins(talk: Talk, group: str) -> None:
    talk.ask(join(""), 0, 4, 6, 9)
    for session in (0.001, 1801, -1):
        talk.ask(join(group, session=session), 0, 5, 9)
    talk.ask(join(group, "nobody"), 0, 4, 7, 9)
    talk.ask(join(group, "nobody", instance="i"), 5, 9)
    talk.ask(request("DescribeGroups", groups=[group]), 5, 6)
    talk.ask(join(group, protocols={}), 0, 9)
    talk.ask(join(group, protocol_type=""), 3, 9)
    talk.ask(request("DescribeGroups", groups=[group]), 5, 6)
    talk.ask(join(group, "nobody"), 7, 9)
    member, _ = talk.alone(group)
    talk.ask(join(group, protocol_type="connect"), 9)
    talk.ask(join(group, member, protocol_type="connect"), 6, 9)
    talk.ask(join(group, protocols={"other": b""}), 6, 9)
    talk.ask(join(group, member, protocols={"other": b""}), 9)
    talk.ask(join(group, "nobody"), 9)
    talk.ask(join(group, member, instance="i"), 9)
    pending = talk.member(group)
    talk.ask(join(group, pending, instance="i"), 9)
    talk.ask(leave(group, (pending, None)), 5)


@SCENARIOS.add
def two_members(talk: Talk, group: str) -> None:
    first, _ = talk.alone(group)
    second = talk.member(group, client=1)
    joining = talk.start(join(group, second, protocols={"range": subscription("u")}), 9, client=1)
    talk.until(group, "PreparingRebalance")
    talk.ask(heartbeat(group, first, 1), 4)
    talk.ask(sync(group, first, 1), 5)
    talk.ask(commit(group, 5, member=first, generation=1), 9)
    talk.ask(request("DescribeGroups", groups=[group]), 0, 4, 6)
    talk.ask(join(group, first), 9)
    talk.answer(joining, client=1)
    talk.ask(heartbeat(group, first, 1), 4)
    talk.ask(heartbeat(group, first, 2), 4)
    talk.ask(commit(group, 5, member=first, generation=2), 8)
    talk.ask(join(group, first), 9)
    talk.ask(join(group, second, protocols={"range": subscription("u")}), 9, client=1)
    syncing = talk.start(sync(group, second, 2), 5, client=1)
    talk.ask(request("DescribeGroups", groups=[group]), 6)
    talk.ask(sync(group, first, 2, {first: b"one", second: b"two"}), 5)
    talk.answer(syncing, client=1)
    talk.ask(request("DescribeGroups", groups=[group], includeAuthorizedOperations=True), 3, 5, 6)
    talk.ask(join(group, second, protocols={"range": subscription("u")}), 4, 9, client=1)
    talk.ask(sync(group, second, 2), 5)
    for asked in (
        offset_delete(group, ("t", 0), ("u", 1), ("x", 0), ("u", 7)),
        offset_delete("", ("t", 0)),
        offset_delete("none"),
    ):
        talk.ask(asked, 0)
    rejoining = talk.start(join(group, second, protocols={"range": subscription("v")}), 9, client=1)
    talk.until(group, "PreparingRebalance")
    talk.ask(leave(group, (first, None), ("nobody", None)), 3, 5)
    talk.answer(rejoining, client=1)
    talk.ask(sync(group, second, 3, {second: b"all"}), 5)
    talk.ask(offset_delete(group, ("t", 0), ("u", 1)), 0)


@SCENARIOS.add
def a_member_that_changes_during_the_rebalance(talk: Talk, group: str) -> None:
    first, _ = talk.alone(group)
    second = talk.member(group, client=1)
    joining = talk.start(join(group, second), 9, client=1)
    talk.until(group, "PreparingRebalance")
    talk.ask(join(group, first), 9)
    talk.answer(joining, client=1)
    syncing = talk.start(sync(group, first, 2, {}), 5)
    talk.answer(syncing)
    syncing = talk.start(join(group, second, protocols={"range": b"?"}), 9, client=1)
    talk.until(group, "PreparingRebalance")
    talk.ask(join(group, first), 9)
    talk.answer(syncing, client=1)
    waiting = talk.start(sync(group, second, 3), 5, client=1)
    leading = talk.start(join(group, first, protocols={"range": b"!"}), 9)
    talk.answer(waiting, client=1)
    talk.ask(join(group, second, protocols={"range": b"?"}), 9, client=1)
    talk.answer(leading)


@SCENARIOS.add
def votes(talk: Talk, group: str) -> None:
    names = ["range", "roundrobin", "sticky", "cooperative-sticky"]
    for number, (ours, theirs) in enumerate(itertools.permutations(names, 2)):
        one, two = {ours: b"1", theirs: b"1"}, {theirs: b"2", ours: b"2"}
        first, _ = talk.alone(f"{group}-{number}", protocols=one)
        second = talk.member(f"{group}-{number}", client=1, protocols=two)
        joining = talk.start(join(f"{group}-{number}", second, protocols=two), 9, client=1)
        talk.until(f"{group}-{number}", "PreparingRebalance")
        talk.ask(join(f"{group}-{number}", first, protocols=one), 9)
        talk.answer(joining, client=1)


@SCENARIOS.add
def refused_syncs_and_heartbeats(talk: Talk, group: str) -> None:
    talk.ask(sync("", "m", 1), 0, 5)
    talk.ask(sync(group, "m", 1), 0, 3, 5)
    talk.ask(heartbeat("", "m", 1), 0, 4)
    talk.ask(heartbeat(group, "m", 1), 0, 4)
    member, generation = talk.alone(group)
    talk.ask(sync(group, "m", generation), 5)
    talk.ask(sync(group, member, 7), 5)
    talk.ask(sync(group, member, generation, instance="i"), 5)
    talk.ask(sync(group, member, generation, protocol_type="connect"), 4, 5)
    talk.ask(sync(group, member, generation, protocol_type=None), 5)
    talk.ask(sync(group, member, generation, protocol=None), 5)
    talk.ask(sync("", member, generation, protocol=None), 5)
    talk.ask(sync(group, member, generation, protocol="sticky"), 5)
    talk.ask(heartbeat(group, "m", generation), 4)
    talk.ask(heartbeat(group, member, 0), 1, 4)
    talk.ask(heartbeat(group, member, generation, instance="i"), 3)
    talk.ask(heartbeat(group, member, generation), 0, 1, 2, 3, 4)


@SCENARIOS.add
def static_members(talk: Talk, group: str) -> None:
    joined = talk.ask(join(group, instance="i"), 5)
    old = joined.member_id
    talk.ask(sync(group, old, 1, {old: b"part"}, instance="i"), 3)
    for version in (5, 7, 8, 9, 9):
        new = talk.ask(join(group, instance="i"), version).member_id
        talk.ask(heartbeat(group, old, 1, instance="i"), 3)
        talk.ask(heartbeat(group, old, 1), 3)
        talk.ask(sync(group, old, 1, instance="i"), 5)
        talk.ask(commit(group, 1, member=old, generation=1, instance="i"), 7, 9)
        talk.ask(join(group, old, instance="i"), 9)
        talk.ask(leave(group, (old, "i")), 4)
        talk.ask(sync(group, new, 1, instance="i"), 5)
        talk.ask(commit(group, 1, member=new, generation=1, instance="i"), 9)
        old = new
    talk.ask(request("DescribeGroups", groups=[group]), 3, 4, 6)
    new = talk.ask(join(group, instance="i", protocols={"range": b"new"}), 9).member_id
    talk.ask(request("DescribeGroups", groups=[group]), 6)
    talk.ask(leave(group, ("", "j"), ("", None), ("", "i"), ("", "i")), 3)
    talk.ask(leave(group, (new, "i")), 5)
    talk.ask(request("DescribeGroups", groups=[group]), 5, 6)
    talk.ask(request("DeleteGroups", groupsNames=[group]), 2)


@SCENARIOS.add
def a_static_member_that_replaces_one_in_a_rebalance(talk: Talk, group: str) -> None:
    first, _ = talk.alone(group)
    joining = talk.start(join(group, instance="i"), 9, client=1)
    talk.until(group, "PreparingRebalance")
    again = talk.start(join(group, instance="i"), 9, client=2)
    talk.answer(joining, client=1)
    talk.ask(join(group, first), 9)
    joined = talk.answer(again, client=2)
    waiting = talk.start(sync(group, joined.member_id, 2, instance="i"), 5, client=2)
    third = talk.start(join(group, instance="i"), 9, client=1)
    talk.answer(waiting, client=2)
    talk.ask(join(group, first), 9)
    talk.answer(third, client=1)


@SCENARIOS.add
def leaving(talk: Talk, group: str) -> None:
    talk.ask(request("LeaveGroup", groupId="", memberId="m"), 0, 2)
    talk.ask(leave("", ("m", None)), 3, 5)
    talk.ask(request("LeaveGroup", groupId=group, memberId="m"), 0, 2)
    talk.ask(leave(group, ("m", None), ("n", "i")), 3, 5)
    talk.ask(leave(group), 5)
    member, generation = talk.alone(group)
    talk.ask(request("LeaveGroup", groupId=group, memberId="m"), 1)
    talk.ask(request("LeaveGroup", groupId=group, memberId=member), 2)
    talk.ask(request("DescribeGroups", groups=[group]), 6)
    talk.ask(heartbeat(group, member, generation), 4)
    talk.ask(join(group, member), 9)
    talk.ask(sync(group, member, generation), 5)
    talk.alone(group)


@SCENARIOS.add
def a_full_group(talk: Talk, group: str) -> None:
    first, _ = talk.alone(group)
    others = [talk.member(group, client=client) for client in (1, 2)]
    joining = [talk.start(join(group, member), 9, client=client) for client, member in enumerate(others, 1)]
    talk.until(group, "PreparingRebalance")
    talk.ask(join(group, first), 9)
    for client, pending in enumerate(joining, 1):
        talk.answer(pending, client)
    talk.ask(join(group), 3, 9)
    talk.ask(join(group, others[0]), 9)
    talk.ask(join(group, "nobody"), 9)


@SCENARIOS.add
def sessions_that_end(talk: Talk, group: str) -> None:
    member, generation = talk.alone(group, session=0.2)
    talk.until(group, "Empty")
    talk.ask(heartbeat(group, member, generation), 4)
    talk.ask(join(group, member), 9)
    talk.ask(commit(group, 1, member=member, generation=generation), 9)
    given = talk.member(group, session=0.2)
    talk.alone(group + "-clock", session=0.2)
    talk.until(group + "-clock", "Empty")
    talk.ask(join(group, given), 9)
    first, _ = talk.alone(group + "-two")
    joined = talk.start(join(group + "-two", instance="i", session=0.2), 9, client=1)
    talk.until(group + "-two", "PreparingRebalance")
    talk.ask(join(group + "-two", first), 9)
    joined = talk.answer(joined, client=1)
    talk.until(group + "-two", "PreparingRebalance")
    talk.ask(heartbeat(group + "-two", joined.member_id, 2, instance="i"), 4)
    talk.ask(heartbeat(group + "-two", first, 2), 4)


@SCENARIOS.add
def rebalances_that_end(talk: Talk, group: str) -> None:
    first, _ = talk.alone(group, rebalance=0.3)
    second = talk.member(group, client=1)
    joining = talk.start(join(group, second, rebalance=0.3), 9, client=1)
    talk.answer(joining, client=1)
    talk.ask(heartbeat(group, first, 1), 4)
    talk.until(group, "Empty")  # nobody brought an assignment
    talk.ask(request("DescribeGroups", groups=[group]), 6)

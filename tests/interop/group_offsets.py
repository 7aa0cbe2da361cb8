"""Conversations about committed offsets, and about groups as they are described, listed and deleted."""

from __future__ import annotations

from kafkawire import protocol
from tests.interop.conversations import Scenarios, Talk
from tests.interop.parity import request
from tests.mockbroker.groups import commit, join, leave, offset_delete

SCENARIOS = Scenarios()


@SCENARIOS.add
def commits_of_members(talk: Talk, group: str) -> None:
    talk.ask(commit(group, 1, member="m", generation=1), 2, 8, 9)
    talk.ask(commit(group, 1, topic="x"), 9)
    talk.ask(request("DescribeGroups", groups=[group]), 6)
    talk.ask(commit(group, 1, metadata="x" * 5000), 9)
    talk.ask(request("DeleteGroups", groupsNames=[group]), 2)
    talk.ask(commit("", 1), 9)
    member, generation = talk.alone(group)
    talk.ask(commit(group, 2), 2, 9)
    talk.ask(commit(group, 2, member=member), 9)
    talk.ask(commit(group, 2, member=member, generation=generation + 1), 9)
    talk.ask(commit(group, 2, member="m", generation=generation), 9)
    talk.ask(commit(group, 2, member=member, generation=generation, instance="i"), 9)
    talk.ask(commit(group, 2, member=member, generation=generation, metadata=None), *range(2, 10))
    talk.ask(commit(group, 3, member=member, generation=generation, partition=1, metadata="ä"), 9)
    talk.ask(commit(group, 3, member=member, generation=generation, partition=2), 9)
    asked = [{"name": "t", "partitionIndexes": [0, 1, 2]}, {"name": "x", "partitionIndexes": [0]}]
    talk.ask(request("OffsetFetch", groupId=group, topics=asked), 1, 3, 5, 7)
    talk.ask(request("OffsetFetch", groupId=group, topics=None), 2, 6, 7)
    several = [
        {"groupId": group, "topics": asked},
        {"groupId": group + "-none", "topics": asked},
        {"groupId": group + "-none", "topics": None},
        {"groupId": group, "topics": None, "memberId": "nobody", "memberEpoch": 9},
    ]
    talk.ask(request("OffsetFetch", groups=several[:2]), 8, 9)
    talk.ask(request("OffsetFetch", groups=several[2:]), 8, 9)
    talk.ask(request("LeaveGroup", groupId=group, memberId=member), 2)
    talk.ask(commit(group, 4), 9)
    talk.ask(commit(group, 4, member=member), 9)
    talk.ask(commit(group, 4, member=member, generation=generation), 9)
    talk.ask(offset_delete(group, ("t", 0), ("u", 1), ("x", 0), ("u", 7)), 0)
    talk.ask(request("OffsetFetch", groupId=group, topics=None), 7)


@SCENARIOS.add
def producer_ids(talk: Talk, group: str) -> None:
    for producer_id, epoch in ((5, -1), (-1, 0)):
        asked = request("InitProducerId", transactionalId=None, producerId=producer_id, producerEpoch=epoch)
        talk.ask(asked, 3, 5)
    talk.ask(request("InitProducerId", transactionalId=""), 0, 5)


@SCENARIOS.add
def groups_of_other_types(talk: Talk, group: str) -> None:
    talk.ask(commit(group, 1), 9)
    talk.ask(request("DescribeGroups", groups=[group], includeAuthorizedOperations=True), 5, 6)
    member = talk.member(group, protocol_type="connect")
    talk.ask(request("DescribeGroups", groups=[group]), 6)
    talk.ask(join(group, member, protocol_type="connect"), 9)
    talk.ask(offset_delete(group, ("t", 0)), 0)
    versions = range(talk.newest("DeleteGroups") + 1)
    talk.ask(request("DeleteGroups", groupsNames=[group, group, group + "-none", ""]), *versions)
    talk.ask(leave(group, (member, None)), 5)
    talk.ask(request("DescribeGroups", groups=[group, group, group + "-none", ""], includeAuthorizedOperations=True), 4, 5, 6)
    talk.ask(offset_delete(group, ("t", 0)), 0)
    talk.ask(request("DeleteGroups", groupsNames=[group]), versions[-1])
    talk.ask(request("DeleteGroups", groupsNames=[group]), versions[-1])


@SCENARIOS.add
def coordinators(talk: Talk, group: str) -> None:
    talk.ask(request("FindCoordinator", key=group), *range(4))
    talk.ask(request("FindCoordinator", coordinatorKeys=[group, "", group]), 4, 5, 6)
    talk.ask(request("FindCoordinator", key=group, keyType=7), 1, 3)
    talk.ask(request("FindCoordinator", coordinatorKeys=[group], keyType=7), 4, 6)
    talk.ask(request("FindCoordinator", key=group, keyType=2), 3)
    talk.ask(request("FindCoordinator", coordinatorKeys=[group], keyType=2), 5, 6)
    talk.ask(request("FindCoordinator", coordinatorKeys=[]), 6)
    talk.ask(request("Metadata", topics=[{"name": "__consumer_offsets"}]), 1)


@SCENARIOS.add
def listed(talk: Talk, group: str) -> None:
    for found in list(talk.do(request("ListGroups"), 5).groups):
        if found.group_state == "Empty":
            talk.do(request("DeleteGroups", groupsNames=[found.group_id]), 2)
    names = {f"{group}-{kind}" for kind in ("simple", "stable", "left")}
    talk.ask(commit(f"{group}-simple", 1), 9)
    talk.alone(f"{group}-stable", protocol_type="connect")
    member, _ = talk.alone(f"{group}-left")
    talk.ask(leave(f"{group}-left", (member, None)), 5)
    for states in ([], ["Stable"], ["empty", "STABLE"], ["nonsense"]):
        for types in ([], ["classic"], ["Classic", "consumer"], ["share"], ["nonsense"]):
            listed = talk.do(request("ListGroups", statesFilter=states, typesFilter=types), 5)
            listed.groups = [found for found in listed.groups if found.group_id in names]
            talk.answers.append((f"{states} {types}", talk.plain(protocol.to_dict(listed))))
    for version in range(6):
        listed = talk.do(request("ListGroups"), version)
        listed.groups = [found for found in listed.groups if found.group_id in names]
        talk.answers.append((f"ListGroups v{version}", talk.plain(protocol.to_dict(listed))))

"""The mock coordinates groups as Kafka does: the same conversations with both, and their answers compared field by field."""

from __future__ import annotations

import itertools
import re
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages import API_KEYS
from mockbroker import MockCluster
from tests.interop.brokers import BEFORE, NEWEST, real_broker
from tests.interop.parity import request
from tests.mockbroker.groups import commit, heartbeat, join, leave, offset_delete, subscription, sync
from tests.mockbroker.raw import TcpClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.protocol.schema import Request
    from tests.mockbroker.raw import Pending
    from tests.real.broker import RealKafka

pytestmark = pytest.mark.real

TRIES = 10_000
NEW_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Kafka lists these in the order of a hash table.
UNORDERED = ("members", "groups", "results", "topics", "partitions")

SCENARIOS: list[Callable[[Talk, str], None]] = []


def scenario(questions: Callable[[Talk, str], None]) -> Callable[[Talk, str], None]:
    """A conversation about groups whose names begin like the one given."""
    SCENARIOS.append(questions)
    return questions


class Talk:
    """Clients of one broker, told apart by numbers; `answers` are all that they got, as plain values."""

    def __init__(self, bootstrap: str, stack: ExitStack) -> None:
        host, port = bootstrap.split(":")
        self._address: Any = SimpleNamespace(host=host, port=int(port))
        self._stack = stack
        self._clients: dict[int, TcpClient] = {}
        self._ids: dict[str, str] = {}
        self.answers: list[tuple[str, Any]] = []

    def ask(self, message: Request, *versions: int, client: int = 0) -> Any:
        """Put a question in some versions and note the answers; the last one."""
        found = None
        for version in versions:
            found = self.answer(self.start(message, version, client=client), client=client)
        return found

    def do(self, message: Request, version: int) -> Any:
        """Put a question whose answer is not compared."""
        return self._client(0).call(message, version)

    def start(self, message: Request, version: int, client: int = 0) -> Pending:
        """Put a question that may have to wait; the broker has taken it up when it has answered another client's."""
        return self._client(client).send(message, version)

    def answer(self, pending: Pending, client: int = 0) -> Any:
        """Wait for an answer and note it."""
        while not pending.done:
            data = self._client(client).read()
            assert data, "the broker closed the connection"
            self._client(client).take(data)
        found = pending.result()
        self.answers.append((f"{pending.cls.name} v{pending.version}", self.plain(protocol.to_dict(found))))
        return found

    def member(self, group: str, *, client: int = 0, **options: Any) -> str:
        """The id of a new member that has not joined yet."""
        found = self.ask(join(group, **options), 9, client=client)
        assert found.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return str(found.member_id)

    def alone(self, group: str, assignment: bytes = b"mine", **options: Any) -> tuple[str, int]:
        """The id and generation of the only member of a stable group."""
        member = self.member(group, **options)
        joined = self.ask(join(group, member, **options), 9)
        chosen, of_type = joined.protocol_name, joined.protocol_type
        self.ask(sync(group, member, joined.generation_id, {member: assignment}, protocol=chosen, protocol_type=of_type), 5)
        return member, joined.generation_id

    def newest(self, api: str) -> int:
        """The newest version of an API that the broker speaks."""
        return {one.api_key: int(one.max_version) for one in self.do(request("ApiVersions"), 0).api_keys}[API_KEYS[api]]

    def wake(self, group: str) -> None:
        """Wait until there is a coordinator for a group."""
        self.do(request("FindCoordinator", key=group), 3)
        for _ in range(TRIES):
            if self.do(request("DeleteGroups", groupsNames=[group]), 2).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                return
        raise AssertionError("there is no coordinator")

    def until(self, group: str, state: str) -> None:
        """Wait for a group to get somewhere."""
        for _ in range(TRIES):
            (found,) = self.do(request("DescribeGroups", groups=[group]), 5).groups
            if found.group_state == state:
                return
        raise AssertionError(f"{group} never became {state}")

    def _client(self, number: int) -> TcpClient:
        if number not in self._clients:
            self._clients[number] = self._stack.enter_context(TcpClient(self._address))
        return self._clients[number]

    def plain(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.plain(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            inner = [self.plain(one) for one in value]
            return sorted(inner, key=str) if name in UNORDERED else inner
        if name == "port":
            return "its port" if value == self._address.port else value
        if isinstance(value, str):
            return NEW_ID.sub(lambda found: self._ids.setdefault(found[0], f"#{len(self._ids)}"), value)
        return value


# Sessions that are over soon, and groups that are full soon.
CONFIG = {"group.min.session.timeout.ms": "200", "group.max.size": "3", "offsets.topic.num.partitions": "4"}


@pytest.fixture(scope="module", params=[NEWEST, BEFORE])
def release(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def mock(release: str) -> Iterator[MockCluster]:
    with MockCluster(1, topics={"t": 2, "u": 2}, version=release, config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def real(release: str) -> Iterator[RealKafka]:
    """With the topics, and with a group coordinator that is awake."""
    config = {name.replace(".", "_"): value for name, value in CONFIG.items()}
    with real_broker(release, **config) as broker, ExitStack() as stack:
        talk = Talk(broker.bootstrap, stack)
        topics = [{"name": name, "numPartitions": 2, "replicationFactor": 1} for name in ("t", "u")]
        talk.do(request("CreateTopics", topics=topics), 7)
        for key in range(20):  # some for each partition of __consumer_offsets
            talk.wake(f"group {key}")
        yield broker


# Coming


@scenario
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


@scenario
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


@scenario
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


@scenario
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


@scenario
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


@scenario
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


@scenario
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


@scenario
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


@scenario
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


@scenario
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


# Time


@scenario
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


@scenario
def rebalances_that_end(talk: Talk, group: str) -> None:
    first, _ = talk.alone(group, rebalance=0.3)
    second = talk.member(group, client=1)
    joining = talk.start(join(group, second, rebalance=0.3), 9, client=1)
    talk.answer(joining, client=1)
    talk.ask(heartbeat(group, first, 1), 4)
    talk.until(group, "Empty")  # nobody brought an assignment
    talk.ask(request("DescribeGroups", groups=[group]), 6)


# Positions


@scenario
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


@scenario
def producer_ids(talk: Talk, group: str) -> None:
    for producer_id, epoch in ((5, -1), (-1, 0)):
        asked = request("InitProducerId", transactionalId=None, producerId=producer_id, producerEpoch=epoch)
        talk.ask(asked, 3, 5)
    talk.ask(request("InitProducerId", transactionalId=""), 0, 5)


# Looking


@scenario
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


@scenario
def coordinators(talk: Talk, group: str) -> None:
    talk.ask(request("FindCoordinator", key=group), *range(4))
    talk.ask(request("FindCoordinator", coordinatorKeys=[group, "", group]), 4, 5, 6)
    talk.ask(request("FindCoordinator", key=group, keyType=7), 1, 3)
    talk.ask(request("FindCoordinator", coordinatorKeys=[group], keyType=7), 4, 6)
    talk.ask(request("FindCoordinator", key=group, keyType=2), 3)
    talk.ask(request("FindCoordinator", coordinatorKeys=[group], keyType=2), 5, 6)
    talk.ask(request("FindCoordinator", coordinatorKeys=[]), 6)
    talk.ask(request("Metadata", topics=[{"name": "__consumer_offsets"}]), 1)


@scenario
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


@pytest.mark.parametrize("questions", SCENARIOS, ids=lambda one: one.__name__)
def test_same_answers(real: RealKafka, mock: MockCluster, questions: Callable[[Talk, str], None]) -> None:
    expected, found = answers(real.bootstrap, questions), answers(mock.bootstrap, questions)
    assert [what for what, _ in found] == [what for what, _ in expected]
    for (what, answer), (_, wanted) in zip(found, expected, strict=True):
        assert answer == wanted, what


def answers(bootstrap: str, questions: Callable[[Talk, str], None]) -> list[tuple[str, Any]]:
    with ExitStack() as stack:
        talk = Talk(bootstrap, stack)
        questions(talk, questions.__name__)
        return talk.answers

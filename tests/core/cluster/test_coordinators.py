"""Coordinators: how they are looked up and remembered, and the requests that the router sends to them."""

from __future__ import annotations

import pytest

from kafkawire.core.cluster.targets import Coordinator, CoordinatorKind
from kafkawire.errors import (
    AuthorizationError,
    BrokerError,
    ErrorCode,
    UnsupportedVersionError,
    broker_error,
)
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest
from tests.core.cluster.simulated import CODES, LONG, SHORT, Simulated, ask

NO_ERRORS = {ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND}
"""Answers of coordinators about groups that do not exist: before 4.0, and since."""


async def describe(rig, groups, seconds=LONG):
    def build(link, keys):
        return DescribeGroupsRequest(groups=list(keys)), link.version(DescribeGroupsRequest)

    def read(response, _keys):
        return {group.group_id: state(group) for group in response.groups}

    def state(group):
        return group.group_state if group.error_code in NO_ERRORS else broker_error(group.error_code, group.group_id)

    targets = {group: Coordinator(CoordinatorKind.GROUP, group) for group in groups}
    return await rig.client.router.call_many(targets, build, read, rig.net.now() + seconds)


@pytest.mark.parametrize(("version", "look_ups"), [(None, 1), ("2.8", 20)], ids=["batched", "one by one"])
def test_coordinators_are_looked_up_together_where_brokers_can_and_remembered(version, look_ups):
    rig = Simulated(version=version)
    groups = [f"group-{number}" for number in range(20)]

    async def main():
        first = await describe(rig, groups)
        found = rig.journal.count("FindCoordinator")
        assert await describe(rig, groups) == first == dict.fromkeys(groups, "Dead")
        return found

    assert rig.run(main) == look_ups
    assert rig.journal.count("FindCoordinator") == look_ups
    assert len(set(rig.brokers_asked("DescribeGroups"))) == 3
    for exchange in rig.journal.requests("DescribeGroups"):
        for group in exchange.request.groups:
            assert rig.cluster.coordinator(group) is rig.cluster.brokers[exchange.broker]


def test_a_coordinator_that_moves_is_followed_and_only_its_groups_are_asked_again():
    rig = Simulated()
    groups = [f"group-{number}" for number in range(20)]

    async def main():
        await describe(rig, groups)
        old = rig.cluster.coordinator("group-0")
        assert old is not None
        rig.cluster.move_coordinator("group-0", old.id % 3 + 1)
        rig.journal.clear()
        return await describe(rig, groups)

    assert rig.run(main) == dict.fromkeys(groups, "Dead")
    (look_up,) = rig.journal.requests("FindCoordinator")
    moved = look_up.request.coordinator_keys
    assert "group-0" in moved
    assert moved == rig.journal.requests("DescribeGroups")[-1].request.groups


@pytest.mark.parametrize("api", ["FindCoordinator", "DescribeGroups"])
def test_an_error_of_one_group_is_the_result_of_that_group_alone(api):
    rig = Simulated(version="2.8")
    rig.faults.fail(api, ErrorCode.GROUP_AUTHORIZATION_FAILED, group="b")

    async def main():
        return await describe(rig, ["a", "b", "c"])

    answers = rig.run(main)
    assert isinstance(answers.pop("b"), AuthorizationError)
    assert answers == {"a": "Dead", "c": "Dead"}


def test_a_group_that_is_not_answered_in_time_has_its_own_cause():
    rig = Simulated(version="2.8")
    rig.faults.fail("DescribeGroups", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, group="a")
    rig.faults.fail("FindCoordinator", ErrorCode.COORDINATOR_NOT_AVAILABLE, group="b")

    async def main():
        return await describe(rig, ["a", "b", "c"], SHORT)

    answers = rig.run(main)
    assert answers.pop("a").error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answers.pop("b").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answers == {"c": "Dead"}


def test_a_look_up_that_is_refused_is_tried_again_if_the_table_says_so():
    rig = Simulated()

    async def look_up(code):
        rig.journal.clear()
        rig.faults.fail("FindCoordinator", code, times=1)
        raised = None
        try:
            await ask(rig, Coordinator(CoordinatorKind.GROUP, code.name))
        except BrokerError as error:
            raised = error.error
        return raised, rig.journal.count("FindCoordinator")

    async def main():
        return {code: await look_up(code) for code in CODES}

    assert rig.run(main) == {code: (None, 2) if code.retriable else (code, 1) for code in CODES}


@pytest.mark.parametrize(
    ("kind", "version"),
    [(CoordinatorKind.TRANSACTION, "0.10.2"), (CoordinatorKind.SHARE, "3.5")],
    ids=["transactions before 0.11", "share groups before 4.0"],
)
def test_brokers_that_are_too_old_for_a_kind_of_coordinator(kind, version):
    rig = Simulated(version=version)

    async def main():
        with pytest.raises(UnsupportedVersionError, match=f"too old for coordinators of the kind {kind.name.lower()}"):
            await ask(rig, Coordinator(kind, "k"))

    rig.run(main)

"""The router: which broker is asked, which errors are asked again, and what is refreshed in between."""

from __future__ import annotations

from functools import partial

import pytest

from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST, list_offsets
from kafkawire.core.cluster.targets import AnyBroker, Controller, Coordinator, CoordinatorKind, Leader, OneBroker
from kafkawire.errors import (
    BootstrapError,
    BrokerError,
    ClosedError,
    DecodeError,
    ErrorCode,
    NetworkError,
    RequestTimedOut,
    TimedOut,
    UnknownTopicError,
)
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.list_groups import ListGroupsRequest
from tests.core.cluster.simulated import CODES, LONG, SHORT, Simulated, ask

FIRST = TopicPartition("t", 0)
GROUP = Coordinator(CoordinatorKind.GROUP, "g")
TARGETS = {
    "leader": Leader(FIRST),
    "group coordinator": GROUP,
    "transaction coordinator": Coordinator(CoordinatorKind.TRANSACTION, "x"),
    "controller": Controller(),
    "any broker": AnyBroker(),
    "broker": OneBroker(2),
}


def api_of(to):
    return "ListOffsets" if isinstance(to, Leader) else "ListGroups"


async def reaction(rig, to, code):
    """(error raised, requests, metadata refreshed, coordinator looked up again) after one refusal."""
    rig.journal.clear()
    rig.faults.fail(api_of(to), code, times=1)
    raised = None
    try:
        await ask(rig, to)
    except BrokerError as error:
        raised = error.error
    count = rig.journal.count
    return raised, count(api_of(to)), count("Metadata") > 0, count("FindCoordinator") > 0


@pytest.mark.parametrize("kind", TARGETS)
def test_every_error_code_has_the_reaction_of_the_table(kind):
    rig, to = Simulated(), TARGETS[kind]

    async def main():
        await ask(rig, to)
        return {code: await reaction(rig, to, code) for code in CODES}

    looked_up = isinstance(to, Coordinator)
    assert rig.run(main) == {
        code: (None, 2, code.refresh_metadata, code.refresh_coordinator and looked_up)
        if code.retriable
        else (code, 1, False, False)
        for code in CODES
    }


@pytest.mark.parametrize("kind", TARGETS)
def test_a_lost_connection_is_asked_again_after_a_refresh(kind):
    rig, to = Simulated(), TARGETS[kind]

    async def main():
        await ask(rig, to)
        rig.journal.clear()
        rig.faults.disconnect(api_of(to), times=1)
        await ask(rig, to)

    rig.run(main)
    assert rig.journal.count(api_of(to)) == 2
    assert rig.journal.count("Metadata") == 1
    assert rig.journal.count("FindCoordinator") == isinstance(to, Coordinator)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("code", ["REQUEST_TIMED_OUT", "NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"])
def test_the_error_is_the_cause_found_before_the_deadline_cut_the_last_attempt_off(kind, code):
    rig, to = Simulated(), TARGETS[kind]

    async def main():
        await ask(rig, to)
        rig.faults.fail(api_of(to), ErrorCode[code], times=1)
        rig.faults.drop(api_of(to), nth=2)
        start = rig.net.now()
        with pytest.raises(BrokerError, match=code):
            await ask(rig, to, SHORT)
        return rig.net.now() - start

    assert rig.run(main) == pytest.approx(SHORT)


@pytest.mark.parametrize("kind", TARGETS)
def test_an_attempt_that_the_deadline_cut_off_is_the_error_if_there_was_none_before(kind):
    rig, to = Simulated(), TARGETS[kind]

    async def main():
        await ask(rig, to)
        rig.faults.drop(api_of(to))
        start = rig.net.now()
        with pytest.raises(RequestTimedOut, match="in the time given"):
            await ask(rig, to, SHORT)
        return rig.net.now() - start

    assert rig.run(main) == pytest.approx(SHORT)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_refusal_that_lasts_is_asked_again_until_the_deadline(kind):
    rig, to = Simulated(), TARGETS[kind]

    async def main():
        await ask(rig, to)
        rig.journal.clear()
        rig.faults.fail(api_of(to), ErrorCode.REQUEST_TIMED_OUT)
        start = rig.net.now()
        with pytest.raises(BrokerError, match="REQUEST_TIMED_OUT"):
            await ask(rig, to, SHORT)
        return rig.net.now() - start

    assert rig.run(main) == pytest.approx(SHORT)
    assert 3 < rig.journal.count(api_of(to)) < 8  # with pauses between them that grow


@pytest.mark.parametrize("kind", TARGETS)
def test_a_silent_broker_is_given_up_and_another_attempt_made(kind):
    rig, to = Simulated(request_timeout_ms=1_000), TARGETS[kind]

    async def main():
        await ask(rig, to)
        rig.faults.drop(api_of(to), times=1)
        await ask(rig, to)

    rig.run(main)


@pytest.mark.parametrize("kind", TARGETS)
def test_an_answer_that_stays_unreadable_is_an_error_after_some_attempts(kind):
    rig, to = Simulated(), TARGETS[kind]

    async def main():
        await ask(rig, to)
        rig.journal.clear()
        rig.faults.flip(api_of(to), 13 if isinstance(to, Leader) else 15)
        with pytest.raises(DecodeError):
            await ask(rig, to)

    rig.run(main)
    assert rig.journal.count(api_of(to)) == 5


def test_a_closed_client_asks_nobody():
    rig = Simulated()

    async def main():
        await ask(rig, AnyBroker())
        rig.client.close()
        for to in TARGETS.values():
            with pytest.raises(ClosedError):
                await ask(rig, to)

    rig.run(main)


def test_a_cluster_that_is_down_is_said_to_be():
    rig = Simulated()
    for broker in rig.cluster.brokers:
        rig.server.stop_broker(broker)

    async def main():
        for to in TARGETS.values():
            with pytest.raises(BootstrapError):
                await ask(rig, to, SHORT)

    rig.run(main)


def test_ask_returns_the_answer_whatever_it_says():
    rig = Simulated()
    rig.faults.fail("ListGroups", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    async def main():
        return await rig.client.router.ask(ListGroupsRequest(), OneBroker(1), LONG)

    assert rig.run(main).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert rig.journal.count("ListGroups") == 1


def test_who_asks_for_nothing_waits_for_nobody():
    rig = Simulated()

    async def main():
        return await list_offsets(rig.client, {}, LONG)

    assert rig.run(main) == {}
    assert rig.journal.count() == 0


def test_a_broker_that_is_not_in_the_cluster():
    rig = Simulated()

    async def main():
        with pytest.raises(NetworkError, match="broker 9 is not in the cluster"):
            await rig.client.router.ask(ListGroupsRequest(), OneBroker(9), LONG)
        with pytest.raises(NetworkError, match="broker 9 is not in the cluster"):
            await rig.client.router.call(ListGroupsRequest(), OneBroker(9), rig.net.now() + SHORT)

    rig.run(main)


def test_a_pause_that_a_broker_asks_for_is_kept():
    rig = Simulated(brokers=1)

    async def main():
        await ask(rig, AnyBroker())
        rig.faults.throttle("ListGroups", 5_000, times=1)
        await ask(rig, AnyBroker())
        start = rig.net.now()
        await ask(rig, AnyBroker())
        return rig.net.now() - start

    assert rig.run(main) >= 4.9


# ---- leaders


def test_each_leader_is_asked_once_about_all_its_partitions():
    rig = Simulated()
    everything = [TopicPartition("t", index) for index in range(6)]

    async def main():
        return await list_offsets(rig.client, dict.fromkeys(everything, EARLIEST), LONG)

    assert {tp: found.offset for tp, found in rig.run(main).items()} == dict.fromkeys(everything, 0)
    assert sorted(rig.brokers_asked("ListOffsets")) == [1, 2, 3]


def test_only_what_was_refused_is_asked_again():
    rig = Simulated()
    everything = [TopicPartition("t", index) for index in range(6)]
    rig.faults.fail("ListOffsets", ErrorCode.NOT_LEADER_OR_FOLLOWER, partition=4, times=2)

    async def main():
        return await list_offsets(rig.client, dict.fromkeys(everything, LATEST), LONG)

    assert list(rig.run(main)) == everything
    asked = [
        [partition.partition_index for topic in exchange.request.topics for partition in topic.partitions]
        for exchange in rig.journal.requests("ListOffsets")
    ]
    assert asked[3:] == [[4], [4]]


def test_a_leader_that_moves_is_followed():
    rig = Simulated()

    async def main():
        await ask(rig, Leader(FIRST))
        leader = rig.client.metadata.snapshot.leader(*FIRST)
        new = next(broker for broker in rig.cluster.brokers if broker != leader)
        rig.cluster.move_leader("t", 0, new)
        rig.journal.clear()
        await ask(rig, Leader(FIRST))
        return [leader, new]

    assert rig.run(main) == rig.brokers_asked("ListOffsets")


@pytest.mark.parametrize("partition", [TopicPartition("nowhere", 0), TopicPartition("t", 99)], ids=["topic", "partition"])
def test_leaders_of_what_does_not_exist(partition):
    rig = Simulated()

    async def main():
        with pytest.raises(UnknownTopicError):
            await ask(rig, Leader(partition))

    rig.run(main)
    assert rig.journal.count("ListOffsets") == 0


def test_a_partition_that_was_added_since_the_last_metadata_is_found():
    rig = Simulated(partitions=1)

    async def main():
        await ask(rig, Leader(FIRST))
        rig.cluster.add_partitions(rig.cluster.topic("t"), 2)
        return await ask(rig, Leader(TopicPartition("t", 1)))

    assert list(rig.run(main)) == [TopicPartition("t", 1)]


def test_a_partition_that_an_answer_leaves_out_is_asked_again():
    rig = Simulated()
    seen = []

    def build(link, keys):
        seen.append(list(keys))
        return ListGroupsRequest(), link.version(ListGroupsRequest)

    async def main():
        return await rig.client.router.call_many(
            {"a": OneBroker(1), "b": OneBroker(1)}, build, lambda _, keys: {keys[-1]: len(seen)}, LONG
        )

    assert rig.run(main) == {"a": 2, "b": 1}
    assert seen == [["a", "b"], ["a"]]


# ---- topics


def create_topic(rig, name):
    rig.cluster.create_topic(name, 1, 1)


def test_a_topic_that_is_created_while_it_is_waited_for_is_found():
    rig = Simulated()
    rig.net.at(1.0, partial(create_topic, rig, "late"))

    async def main():
        return await rig.client.router.topic("late", LONG)

    assert rig.run(main).name == "late"


def test_the_error_of_a_topic_is_said_where_the_deadline_cuts_the_refresh_off():
    rig = Simulated()

    async def main():
        await rig.client.updater.refresh(LONG)
        rig.faults.drop("Metadata", nth=2)
        with pytest.raises(UnknownTopicError, match="'nowhere' is not on the cluster"):
            await rig.client.router.topic("nowhere", rig.net.now() + SHORT)

    rig.run(main)


def test_without_any_answer_the_time_is_over():
    rig = Simulated()
    rig.faults.drop("Metadata")

    async def main():
        with pytest.raises(TimedOut, match="no metadata from the cluster in the time given"):
            await rig.client.router.topic("t", rig.net.now() + SHORT)

    rig.run(main)

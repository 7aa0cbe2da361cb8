"""Metadata snapshots: the state of a topic after each kind of answer (traps 103, 104, 131)."""

from __future__ import annotations

from kafkawire.core.cluster.metadata import Snapshot, merge
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.metadata import MetadataResponse

ID, OTHER = b"1" * 16, b"2" * 16


def answer(*topics, brokers=(1, 2), controller=1):
    """`topics`: (name, topic id, [(leader, epoch), ...]) or (name, error)."""
    response = MetadataResponse(controller_id=controller, cluster_id="c")
    response.brokers = [MetadataResponse.Broker(node_id=node, host=f"h{node}", port=9092) for node in brokers]
    for name, topic_id, *rest in topics:
        topic = MetadataResponse.Topic(name=name)
        if rest:
            topic.topic_id = topic_id
            topic.partitions = [
                MetadataResponse.Topic.Partition(partition_index=index, leader_id=leader, leader_epoch=epoch)
                for index, (leader, epoch) in enumerate(rest[0])
            ]
        else:
            topic.error_code = topic_id
        response.topics.append(topic)
    return response


def after(old, response, *, version=12, asked=frozenset({"t"})):
    return merge(old, response, version, asked, 1.0)


def known(leader=1, epoch=5):
    return after(Snapshot(), answer(("t", ID, [(leader, epoch)])))[0]


def test_an_older_epoch_is_no_news():
    snapshot, _ = after(known(epoch=5), answer(("t", ID, [(2, 4)])))
    assert snapshot.leader("t", 0) == 1
    snapshot, _ = after(known(epoch=5), answer(("t", ID, [(2, 6)])))
    assert snapshot.leader("t", 0) == 2


def test_epochs_of_old_brokers_are_not_trusted():
    snapshot, _ = after(known(epoch=5), answer(("t", ID, [(2, 4)])), version=8)
    assert snapshot.leader("t", 0) == 2


def test_a_topic_that_was_created_anew_starts_its_epochs_anew():
    snapshot, _ = after(known(epoch=5), answer(("t", OTHER, [(2, 0)])))
    assert snapshot.leader("t", 0) == 2


def test_leaders_that_are_none():
    for leader in (-1, 9):
        snapshot, _ = after(Snapshot(), answer(("t", ID, [(leader, 0), (1, 0)])))
        assert snapshot.leader("t", 0) is None
        assert snapshot.leader("t", 1) == 1


def test_topics_that_were_not_asked_for_stay():
    old, _ = after(Snapshot(), answer(("u", ID, [(1, 0)])), asked=frozenset({"u"}))
    snapshot, _ = after(old, answer(("t", OTHER, [(1, 0)])))
    assert set(snapshot.topics) == {"t", "u"}
    snapshot, _ = after(snapshot, answer(("t", OTHER, [(1, 0)])), asked=None)
    assert set(snapshot.topics) == {"t"}


def test_errors_of_topics():
    snapshot, errors = after(known(), answer(("t", ErrorCode.LEADER_NOT_AVAILABLE)))
    assert errors == {"t": ErrorCode.LEADER_NOT_AVAILABLE}
    assert snapshot.leader("t", 0) == 1  # it may only be away for a moment
    snapshot, errors = after(known(), answer(("t", ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    assert errors == {"t": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    assert "t" not in snapshot.topics


def test_a_topic_without_partitions_is_not_there_yet():
    snapshot, errors = after(Snapshot(), answer(("t", ID, [])))
    assert "t" not in snapshot.topics
    assert errors["t"].retriable


def test_a_controller_that_is_not_listed_is_none():
    assert after(Snapshot(), answer(controller=9))[0].controller is None
    assert known().controller.host == "h1"

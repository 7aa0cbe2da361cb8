"""The subscription while topics become known, and partitions that were named before."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST
from kafkawire.core.cluster.metadata import Partition, Snapshot, Topic
from kafkawire.core.consume.collector import FetchCollector
from kafkawire.core.consume.reports import Reports
from kafkawire.core.consume.subscription import Subscription
from kafkawire.errors import ConfigurationError, UnknownTopicError
from kafkawire.message import TopicPartition


def subscription(*topics):
    net: Any = SimpleNamespace(now=lambda: 0.0)
    collector = FetchCollector(net, resolve(ConsumerOptions, {"bootstrap_servers": "x:1"}))
    return Subscription(topics, "latest", collector, Reports(), Backoff(0, 0))


def metadata(**topics):
    """Make a snapshot of topics that have so many partitions."""
    return Snapshot(
        topics=MappingProxyType(
            {
                name: Topic(name, bytes(16), False, {i: Partition(i, 1, 0, (1,), (1,)) for i in range(count)})
                for name, count in topics.items()
            }
        )
    )


def test_nothing_is_assigned_before_all_topics_are_known():
    s = subscription("a", "b")
    assert not s.follow(metadata(a=2))
    assert s.assignment() == set()
    assert not s.topics_known
    assert s.follow(metadata(a=2, b=1, c=1))
    assert s.assignment() == {("a", 0), ("a", 1), ("b", 0)}


def test_partitions_that_a_topic_gets_later_are_read_from_their_beginning():
    s = subscription("a")
    s.follow(metadata(a=1))
    s.follow(metadata(a=2))
    assert [state.start for state in s.states()] == [LATEST, EARLIEST]


def test_partitions_may_be_sought_and_paused_before_their_topics_are_known():
    s = subscription("a")
    s.seek(TopicPartition("a", 1), 7)
    s.pause([TopicPartition("a", 0)])
    assert s.paused() == {("a", 0)}
    with pytest.raises(ConfigurationError, match="not assigned"):
        s.seek(TopicPartition("other", 0), 7)
    s.follow(metadata(a=2))
    assert [(state.tp.partition, state.position, state.paused) for state in s.states()] == [(0, None, True), (1, 7, False)]
    with pytest.raises(ConfigurationError, match="not assigned"):
        s.seek(TopicPartition("a", 2), 7)


def test_a_partition_named_before_that_its_topic_does_not_have_is_told_once():
    s = subscription("a")
    s.pause([TopicPartition("a", 9)])
    with pytest.raises(UnknownTopicError, match="no partition 9"):
        s.follow(metadata(a=1))
    assert s.follow(metadata(a=1))
    assert s.paused() == set()


def test_seek_all_holds_for_partitions_that_are_not_known_yet():
    s = subscription("a")
    s.seek_all(EARLIEST)
    s.follow(metadata(a=2))
    assert [state.start for state in s.states()] == [EARLIEST, EARLIEST]


def test_an_assignment_takes_the_place_of_topics_and_keeps_positions():
    s = subscription("a")
    s.follow(metadata(a=2))
    s.seek(TopicPartition("a", 1), 7)
    s.assign([TopicPartition("a", 1), TopicPartition("b", 0)])
    assert s.topic_names() == {"a", "b"}
    assert [(state.tp, state.position) for state in s.states()] == [(("a", 1), 7), (("b", 0), None)]
    assert s.follow(metadata(a=3, b=3))
    assert len(s.assignment()) == 2
    s.assign([])
    assert s.is_empty()

"""The mock gives records as Kafka does: the same raw requests to both, compared field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.protocol.compression import Codec
from tests.interop.parity import Questions, Scenarios, assert_same_answers, request
from tests.mockbroker.raw import batch, fetch_request

if TYPE_CHECKING:
    from tests.interop.parity import Broker

pytestmark = pytest.mark.real

scenario = Scenarios()
NOW = 1_700_000_000_000


@scenario
def fetched_records(broker: Broker, name: str) -> None:
    topic_id = broker.make_topic(name, partitions=2)
    broker.fill(
        name, batch(b"a", b"b", timestamp=NOW), batch(b"c", timestamp=NOW), batch(b"d", timestamp=NOW, codec=Codec.GZIP)
    )
    for offset in (0, 1, 3, 4, 5, -1):
        broker.ask(fetch_request(offset, topic=name, topic_id=topic_id), *range(4, 19))
    broker.ask(fetch_request(0, topic=name, isolation_level=1), 4, 12)
    broker.ask(fetch_request(0, topic=name, partitions=[1, 0, 7]), 4, 12)
    broker.ask(fetch_request(0, topic=name + "-no"), 4, 12)
    broker.ask(fetch_request(0, topic_id=b"\1" * 16), 13, 18)
    for limit in (0, 1, 80, 150, 250):
        broker.ask(fetch_request(0, topic=name, partition_max_bytes=limit), 4, 12)
        broker.ask(fetch_request(0, topic=name, max_bytes=limit), 4, 12)
        broker.ask(fetch_request(3, topic=name, partitions=[1, 0], max_bytes=limit), 12)
    epochs: Any = request(
        "Fetch", topics=[{"topic": name, "partitions": [{"partition": 0, "currentLeaderEpoch": 0, "partitionMaxBytes": 10}]}]
    )
    for epoch in (-1, 0, 1, 7):
        epochs.topics[0].partitions[0].current_leader_epoch = epoch
        broker.ask(epochs, 9, 12)
    mixed = fetch_request(4, topic=name, max_wait_ms=100, min_bytes=1)
    mixed.topics += fetch_request(0, topic=name + "-no").topics
    broker.ask(mixed, 12)
    broker.ask(request("Fetch", maxWaitMs=10), 4, 12)


@scenario
def diverging_epochs(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    broker.fill(name, batch(b"a", b"b", timestamp=NOW))
    asked = fetch_request(0, topic=name)
    for last in (-1, 0, 1, 5):
        for offset in (0, 2, 3, 9):
            asked.topics[0].partitions[0].last_fetched_epoch = last
            asked.topics[0].partitions[0].fetch_offset = offset
            broker.ask(asked, 12)


def session(broker: Broker, session_id: int, epoch: int, topics: Any = (), forgotten: Any = (), version: int = 12) -> Any:
    """One fetch of a session. topics: (name, partition, offset)."""
    wanted = [
        {"topic": topic, "partitions": [{"partition": partition, "fetchOffset": offset, "partitionMaxBytes": 1000}]}
        for topic, partition, offset in topics
    ]
    lost = [{"topic": topic, "partitions": [partition]} for topic, partition in forgotten]
    asked = request(
        "Fetch", sessionId=session_id, sessionEpoch=epoch, maxWaitMs=10, minBytes=1, topics=wanted, forgottenTopicsData=lost
    )
    return broker.ask(asked, version)


@scenario
def fetch_sessions(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=3)
    broker.fill(name, batch(b"a", timestamp=NOW))
    number = session(broker, 0, 0, [(name, 0, 0), (name, 1, 0)]).session_id
    session(broker, number, 1)
    session(broker, number, 2, [(name, 0, 1)])
    session(broker, number, 3)
    broker.fill(name, batch(b"b", timestamp=NOW), partition=1)
    session(broker, number, 4)
    session(broker, number, 5, [(name, 1, 1)])
    session(broker, number, 6, [(name, 2, 0), (name, 7, 0)])
    session(broker, number, 7)
    session(broker, number, 8, [(name, 7, 0)], [(name, 7), (name, 2)])
    session(broker, number, 9)
    session(broker, number, 9)
    session(broker, number, 30)
    session(broker, number, 10, [(name, 0, 9)])
    session(broker, number, 11, [(name, 0, 1)])
    session(broker, number, 12)
    session(broker, number + 1, 12)
    session(broker, number, -1, [(name, 0, 0)])
    session(broker, number, 13)
    number = session(broker, 0, 0, [(name, 0, 1)], version=7).session_id
    session(broker, number, 0, [(name, 0, 1), (name + "-no", 0, 1)], version=8)
    number = session(broker, 0, 0, [(name, 0, 1)], version=8).session_id
    session(broker, number, 1, [], [(name, 0)], version=8)
    session(broker, number, 2, version=8)
    session(broker, 0, 0)
    session(broker, 0, 1)
    session(broker, 0, -1, [(name, 0, 1)])
    number = session(broker, 0, 0, [(name, 0, 1)]).session_id
    broker.ask(request("Fetch", sessionId=number, sessionEpoch=1), 13)


@scenario
def fetch_sessions_by_topic_id(broker: Broker, name: str) -> None:
    topic_id = broker.make_topic(name, partitions=2)
    asked = fetch_request(0, topic_id=topic_id, partitions=[0, 1], session_id=0, session_epoch=0)
    number = broker.ask(asked, 18).session_id
    broker.fill(name, batch(b"b", timestamp=NOW), partition=1)
    broker.ask(request("Fetch", sessionId=number, sessionEpoch=1, maxWaitMs=10, minBytes=1), 18)
    unknown = fetch_request(0, topic_id=b"\1" * 16, session_id=number, session_epoch=2)
    broker.ask(unknown, 18)
    broker.ask(request("Fetch", sessionId=number, sessionEpoch=3, maxWaitMs=10, minBytes=1), 18)
    broker.ask(request("Fetch", sessionId=number, sessionEpoch=4, maxWaitMs=10, minBytes=1), 12)
    broker.do(request("DeleteTopics", topics=[{"name": name}], timeoutMs=1000), 6)
    broker.do(request("Fetch", sessionId=number, sessionEpoch=4, maxWaitMs=200, minBytes=100), 18)


def offsets(name: str, partition: int, timestamp: int, epoch: int = -1) -> Any:
    wanted = {"partitionIndex": partition, "timestamp": timestamp, "currentLeaderEpoch": epoch}
    return request("ListOffsets", replicaId=-1, topics=[{"name": name, "partitions": [wanted]}])


@scenario
def listed_offsets(broker: Broker, name: str) -> None:
    broker.make_topic(name, partitions=2)
    broker.fill(name, batch(b"a", b"b", timestamp=NOW), batch(b"c", b"d", timestamp=NOW - 50), batch(b"e", timestamp=NOW + 100))
    for timestamp in (0, NOW - 49, NOW, NOW + 1, NOW + 2, NOW + 101, -1, -2, -3, -4, -5, -6, -7, -99):
        broker.ask(offsets(name, 0, timestamp), *range(1, 12))
        broker.ask(offsets(name, 1, timestamp), 7, 9, 11)
    for epoch in (0, 1):
        broker.ask(offsets(name, 0, -1, epoch), 6)
    broker.ask(offsets(name, 5, -1), 1, 6)
    broker.ask(offsets(name + "-no", 0, -1), 1, 6)
    twice = offsets(name, 0, -1)
    twice.topics[0].partitions *= 2
    broker.ask(twice, 6)


@scenario
def ends_of_leader_epochs(broker: Broker, name: str) -> None:
    broker.make_topic(name)
    broker.fill(name, batch(b"a", b"b", timestamp=NOW))
    for topic, partition, epoch, current in (
        *((name, 0, 0, -1), (name, 0, 1, -1), (name, 0, -1, -1), (name, 0, 0, 0), (name, 0, 0, 3)),
        *((name, 4, 0, -1), (name + "-no", 0, 0, -1)),
    ):
        wanted = {"partition": partition, "currentLeaderEpoch": current, "leaderEpoch": epoch}
        broker.ask(request("OffsetForLeaderEpoch", topics=[{"topic": topic, "partitions": [wanted]}]), 2, 3, 4)


@scenario
def deleted_records(broker: Broker, name: str) -> None:
    topic_id = broker.make_topic(name, partitions=2)
    broker.fill(name, batch(b"a", b"b", timestamp=NOW), batch(b"c", timestamp=NOW), batch(b"d", b"e", timestamp=NOW))

    def delete(topic: str, partition: int, offset: int) -> None:
        wanted = {"name": topic, "partitions": [{"partitionIndex": partition, "offset": offset}]}
        broker.ask(request("DeleteRecords", topics=[wanted], timeoutMs=1000), 0, 1, 2)

    for offset in (0, 1, 6, -2, 3, 2):
        delete(name, 0, offset)
    for timestamp in (-1, -2, -3, -4, 0):
        broker.ask(offsets(name, 0, timestamp), 11)
    broker.ask(fetch_request(1, topic=name), 12)
    broker.ask(fetch_request(3, topic=name), 12)
    broker.ask(fetch_request(4, topic_id=topic_id), 18)
    delete(name, 0, 4)
    broker.ask(fetch_request(4, topic_id=topic_id), 18)
    delete(name, 0, -1)
    for timestamp in (-1, -2, -3, -4, 0):
        broker.ask(offsets(name, 0, timestamp), 11)
    broker.ask(fetch_request(5, topic=name), 12)
    wanted = {"partition": 0, "leaderEpoch": 0}
    broker.ask(request("OffsetForLeaderEpoch", topics=[{"topic": name, "partitions": [wanted]}]), 4)
    delete(name, 1, 0)
    delete(name, 9, 0)
    delete(name + "-no", 0, 0)
    compacted = name + "-compacted"
    broker.make_topic(compacted, cleanup_policy="compact")
    broker.fill(compacted, batch(b"a", timestamp=NOW))
    delete(compacted, 0, 1)


@pytest.mark.parametrize("questions", scenario.all, ids=lambda one: one.__name__)
def test_same_answers(twins: tuple[str, str], questions: Questions) -> None:
    assert_same_answers(*twins, questions)

"""A cluster as a connection shows it."""

from __future__ import annotations

import inspect
import threading

import pytest

import kafkawire
import kafkawire.aio
from kafkawire.errors import BootstrapError, ClosedError, ErrorCode, NetworkError, TimedOut, UnknownTopicError
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from tests.client.faces import SOON


def test_what_there_is(face, kafka):
    with face.Connection(kafka.bootstrap) as connection:
        assert {(b.node_id, b.host, b.port) for b in connection.brokers()} == {
            (b.id, b.host, b.port) for b in kafka.brokers.values()
        }
        assert connection.controller().node_id == 1
        assert connection.topics() == ["many", "one"]
        partitions = connection.partitions("many")
        assert [p.index for p in partitions] == [0, 1, 2, 3]
        assert [p.leader for p in partitions] == [kafka.leader("many", i) for i in range(4)]
        assert set(partitions[0].replicas) == {1, 2, 3}


def test_both_connections_have_the_same_methods():
    def methods(connection):
        return {
            name: inspect.signature(found).parameters.keys()
            for name, found in vars(connection).items()
            if callable(found) and not name.startswith("_")
        }

    assert methods(kafkawire.Connection) == methods(kafkawire.aio.Connection)
    assert not [found for found in vars(kafkawire.Connection).values() if isinstance(found, property)]


def test_what_changes_is_seen(face, kafka):
    with face.Connection(kafka.bootstrap, retry_backoff_ms=10, retry_backoff_max_ms=10) as connection:
        assert connection.topics() == ["many", "one"]
        kafka.create_topic("new")
        kafka.delete_topic("one")
        assert connection.topics() == ["many", "new"]
        assert connection.partitions("many")[0].leader == 1
        kafka.move_leader("many", 0, 3)
        connection.refresh()
        assert connection.partitions("many")[0].leader == 3
        with pytest.raises(UnknownTopicError):
            connection.partitions("one")


def test_looking_at_a_topic_does_not_create_it(face, kafka):
    with face.Connection(kafka.bootstrap, retry_backoff_ms=10, retry_backoff_max_ms=10) as connection:
        for _ in range(2):
            with pytest.raises(UnknownTopicError, match=r"topic 'nope' is not on the cluster .*create it, or correct the name"):
                connection.partitions("nope")
        assert connection.topics() == ["many", "one"]


def test_requests_of_ones_own(face, kafka):
    with face.Connection(kafka.bootstrap) as connection:
        answer = connection.request(MetadataRequest(topics=[MetadataRequest.Topic(name="one")]))
        assert [topic.name for topic in answer.topics] == ["one"]
        for broker in (1, 2, 3):
            connection.request(MetadataRequest(topics=[]), broker=broker)
        assert {e.broker for e in kafka.journal.requests("Metadata")} == {1, 2, 3}
        assert connection.request(ApiVersionsRequest(client_software_name="x", client_software_version="1")).error_code == 0
        with pytest.raises(NetworkError, match=r"broker 9 is not in the cluster: known are \[1, 2, 3\]"):
            connection.request(MetadataRequest(topics=[]), broker=9)


def test_one_link_serves_many_threads(kafka):
    with kafkawire.Connection(kafka.bootstrap) as connection:
        errors = []

        def ask():
            try:
                for _ in range(20):
                    assert len(connection.request(MetadataRequest(topics=None), broker=2).topics) == 2
            except BaseException as error:  # noqa: BLE001 - raised again below
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
    assert len({e.client.connection for e in kafka.journal.requests(broker=2, client_id="kafkawire")}) <= 2


def test_the_client_says_who_it_is(face, kafka):
    with face.Connection(kafka.bootstrap, client_id="it is me") as connection:
        connection.topics()
    exchanges = kafka.journal.requests()
    assert {e.client_id for e in exchanges} == {"it is me"}
    assert exchanges[0].api == "ApiVersions"
    assert exchanges[0].request.client_software_name == "kafkawire"


def test_nothing_is_connected_before_it_is_needed(face, kafka):
    with face.Connection(kafka.bootstrap):
        pass
    assert kafka.journal.requests() == []


def test_answers_that_do_not_come(face, kafka):
    kafka.drop("Metadata")
    with (
        face.Connection(kafka.bootstrap) as connection,
        pytest.raises(TimedOut, match="in the time given"),
    ):
        connection.topics(timeout=1)


def test_a_silent_broker_does_not_stand_for_all(face, kafka):
    """Its link is given up, and the next one is asked."""
    with face.Connection(kafka.bootstrap, request_timeout_ms=200) as connection:
        for broker in (1, 2, 3):
            connection.request(MetadataRequest(topics=[]), broker=broker)
        for silent in (1, 2):
            kafka.drop("Metadata", broker=silent)
        for _ in range(5):
            assert connection.topics(timeout=SOON) == ["many", "one"]


def test_brokers_that_come_and_go(face, kafka):
    with face.Connection(kafka.bootstrap, reconnect_backoff_ms=10, reconnect_backoff_max_ms=50) as connection:
        for number in (1, 2, 3, 1):
            kafka.brokers[number].stop()
            assert connection.topics(timeout=SOON) == ["many", "one"]
            kafka.brokers[number].start()


def test_metadata_errors_pass(face, kafka):
    kafka.fail("Metadata", ErrorCode.LEADER_NOT_AVAILABLE, topic="one", times=3)
    with face.Connection(kafka.bootstrap, retry_backoff_ms=10) as connection:
        assert len(connection.partitions("one")) == 1


def test_a_broker_that_asks_for_a_new_start_is_no_source_of_metadata(face, kafka):
    """KIP-1102: its answer is empty, and what is known stays true until another source has answered."""
    for broker in (1, 2):
        kafka.fail("Metadata", ErrorCode.REBOOTSTRAP_REQUIRED, broker=broker)
    with face.Connection(kafka.bootstrap, retry_backoff_ms=10) as connection:
        for _ in range(5):
            assert connection.topics(timeout=SOON) == ["many", "one"]
    kafka.fail("Metadata", ErrorCode.REBOOTSTRAP_REQUIRED)
    with face.Connection(kafka.bootstrap) as connection, pytest.raises(BootstrapError, match="REBOOTSTRAP_REQUIRED"):
        connection.topics(timeout=2)


def test_use_after_close(face, kafka):
    connection = face.Connection(kafka.bootstrap)
    connection.topics()
    connection.close()
    connection.close()
    for call in (connection.topics, connection.refresh, lambda: connection.partitions("one")):
        with pytest.raises(ClosedError, match="make a new one"):
            call()
    with pytest.raises(ClosedError):
        face.Producer(connection=connection).send("one", b"v")


def test_one_living_server_is_enough(face, kafka):
    with MockCluster(brokers=1) as gone:
        dead = gone.bootstrap
    with face.Connection([dead, kafka.bootstrap.split(",")[0]]) as connection:
        assert connection.topics(timeout=SOON) == ["many", "one"]

"""Delivery through failures: records are written once and in order, or their failure is reported."""

from __future__ import annotations

import pytest

from kafkawire.errors import (
    BrokerError,
    DeliveryTimedOut,
    ErrorCode,
    NetworkError,
    UnsupportedVersionError,
)
from mockbroker import MockCluster
from tests.client.faces import SOON
from tests.client.records import QUICK, numbers, send_numbers

RETRIABLE = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.KAFKA_STORAGE_ERROR,
]


@pytest.mark.parametrize("code", RETRIABLE, ids=lambda code: code.name)
def test_what_may_pass_is_tried_again(face, kafka, code):
    fault = kafka.fail("Produce", code, times=3)
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        assert [d.result(timeout=SOON).offset for d in send_numbers(p, 5)] == list(range(5))
        assert p.counts() == (5, 5, 0, 0)
    assert fault.fired == 3
    assert numbers(kafka) == list(range(5))


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_RECORD, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CORRUPT_MESSAGE], ids=lambda c: c.name
)
def test_what_stays_is_said_and_the_next_records_pass(face, kafka, code):
    with face.Producer(bootstrap_servers=kafka.bootstrap, retries=3, **QUICK) as p:
        kafka.fail("Produce", code, times=4 if code.retriable else 1)
        error = p.send("one", b"0").exception(timeout=SOON)
        assert isinstance(error, BrokerError)
        assert error.error is code
        assert "one partition 0" in str(error)
        assert p.send("one", b"1").result(timeout=SOON).offset == 0
        assert p.counts() == (2, 1, 1, 0)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "face_options", [{}, {"max_in_flight_requests_per_connection": 1}], ids=["five in flight", "one in flight"]
)
def test_lost_answers_make_no_duplicates_and_keep_the_order(face, kafka, when, face_options):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=0, batch_size=1, **QUICK, **face_options) as p:
        p.send("one", b"0").result(timeout=SOON)
        kafka.disconnect("Produce", when=when, nth=3, times=4)
        offsets = [d.result(timeout=SOON).offset for d in send_numbers(p, 40, start=1)]
    assert numbers(kafka) == list(range(41))
    assert offsets == list(range(1, 41))


@pytest.mark.parametrize("bytes_of_answer", [0, 3, 4, 20])
def test_cut_answers(face, kafka, bytes_of_answer):
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=1, **QUICK) as p:
        kafka.cut("Produce", bytes_of_answer, nth=2, times=3)
        for d in send_numbers(p, 20):
            d.result(timeout=SOON)
    assert numbers(kafka) == list(range(20))


def test_silent_brokers_are_given_up_and_asked_again(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, request_timeout_ms=300, **QUICK) as p:
        kafka.drop("Produce", when="after", times=1)
        assert send_numbers(p, 1)[0].result(timeout=SOON).offset == 0
    assert numbers(kafka) == [0]


def test_errors_among_batches_in_flight_keep_the_order(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=1, linger_ms=0, **QUICK) as p:
        kafka.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, nth=4, times=3)
        for d in send_numbers(p, 50):
            d.result(timeout=SOON)
    assert numbers(kafka) == list(range(50))


def test_a_leader_that_moves_is_followed(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        deliveries = []
        for turn in range(6):
            deliveries += send_numbers(p, 10, start=10 * turn)
            if turn % 2:
                p.flush(timeout=SOON)
            kafka.move_leader("one", 0, turn % 3 + 1)
        for d in deliveries:
            d.result(timeout=SOON)
    assert numbers(kafka) == list(range(60))


def test_a_partition_without_leader_waits_and_the_others_go_on(face, kafka):
    kafka.move_leader("many", 1, None)
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        waiting = send_numbers(p, 1, "many", 1)[0]
        assert send_numbers(p, 1, "many", 0)[0].result(timeout=SOON).offset == 0
        assert not waiting.done()
        kafka.move_leader("many", 1, 2)
        assert waiting.result(timeout=SOON).offset == 0


def test_a_broker_that_dies_at_rest(face, kafka):
    """Nothing is in flight that would fail: the connect that is refused tells that the leader may be another one."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        send_numbers(p, 1)[0].result(timeout=SOON)
        kafka.brokers[kafka.leader("one", 0)].stop()
        assert send_numbers(p, 1, start=1)[0].result(timeout=SOON).offset == 1


def test_an_election_that_takes_its_time(face, kafka):
    """Metadata names the dead leader for a while: it is asked for again until it names another."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        send_numbers(p, 1)[0].result(timeout=SOON)
        dead = kafka.leader("one", 0)
        kafka.brokers[dead].stop()
        kafka.call(lambda: pretend(kafka.cluster, dead))
        d = send_numbers(p, 1, start=1)[0]
        seen = len(kafka.journal.requests("Metadata"))
        kafka.journal.wait_for("Metadata", count=seen + 3)
        assert not d.done()
        kafka.call(lambda: elect(kafka.cluster, dead))
        assert d.result(timeout=SOON).offset == 1


def pretend(cluster, dead):
    """The controller has not noticed yet: the dead broker is still listed, and leads."""
    cluster.brokers[dead].online = True
    cluster.partition("one", 0).leader = dead


def elect(cluster, dead):
    cluster.stop_broker(dead)


def test_restarts(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        for turn in range(3):
            deliveries = send_numbers(p, 20, start=20 * turn)
            kafka.brokers[turn + 1].restart()
            for d in deliveries:
                d.result(timeout=SOON)
    assert numbers(kafka) == list(range(60))


def test_the_whole_cluster_goes_and_comes_back(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        send_numbers(p, 1)[0].result(timeout=SOON)
        for broker in kafka.brokers.values():
            broker.stop()
        d = send_numbers(p, 1, start=1)[0]
        with pytest.raises(TimeoutError):
            d.result(timeout=0.3)
        for broker in kafka.brokers.values():
            broker.start()
        assert d.result(timeout=SOON).offset == 1


@pytest.mark.parametrize("what", ["no leader", "silence", "errors"])
def test_delivery_ends_in_time(face, kafka, what):
    with face.Producer(bootstrap_servers=kafka.bootstrap, delivery_timeout_ms=1_500, **QUICK) as p:
        p.send("one", b"0").result(timeout=SOON)
        if what == "no leader":
            kafka.move_leader("one", 0, None)
        elif what == "silence":
            kafka.drop("Produce", when="before")
        else:
            kafka.fail("Produce", ErrorCode.NOT_ENOUGH_REPLICAS)
        error = p.send("one", b"lost").exception(timeout=SOON / 2)
        assert isinstance(error, DeliveryTimedOut)
        assert "1 records for one partition 0 were not acknowledged within delivery_timeout_ms" in str(error)
        assert p.counts() == (2, 1, 1, 0)
        kafka.faults.clear()
        kafka.move_leader("one", 0, 1)
        assert p.send("one", b"1").result(timeout=SOON).offset == 1
    assert numbers(kafka) == [0, 1]


def test_retries_end(face, kafka):
    fault = kafka.fail("Produce", ErrorCode.NOT_ENOUGH_REPLICAS)
    with face.Producer(bootstrap_servers=kafka.bootstrap, retries=2, **QUICK) as p:
        error = p.send("one", b"0").exception(timeout=SOON)
        assert error.error is ErrorCode.NOT_ENOUGH_REPLICAS
    assert fault.fired == 3


def test_throttling_is_kept_to(face, kafka):
    kafka.throttle("Produce", 300, times=1)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for d in [*send_numbers(p, 1), *send_numbers(p, 1, start=1)]:
            d.result(timeout=SOON)
        p.send("one", b"2").result(timeout=SOON)
    times = [e.time for e in kafka.journal.requests("Produce")]
    assert times[1] - times[0] >= 0.29


def test_acks_0_says_when_it_knows_that_a_record_is_lost(face):
    options = {"acks": 0, "delivery_timeout_ms": 1_500, **QUICK}
    with MockCluster(brokers=1, topics={"one": 1}) as kafka, face.Producer(bootstrap_servers=kafka.bootstrap, **options) as p:
        p.send("one", b"0").result(timeout=SOON)
        kafka.brokers[1].stop()
        errors = [p.send("one", b"lost").exception(timeout=SOON) for _ in range(3)]
        assert isinstance(errors[-1], NetworkError | DeliveryTimedOut)
        counts = p.counts()
        assert counts.accepted == counts.acknowledged + counts.failed == 4


def test_trap_58_zstd_with_a_broker_that_is_too_old(face):
    with (
        MockCluster(brokers=1, topics={"one": 1}, version="2.0") as kafka,
        face.Producer(bootstrap_servers=kafka.bootstrap, compression_type="zstd") as p,
    ):
        error = p.send("one", b"v").exception(timeout=SOON)
        assert isinstance(error, UnsupportedVersionError)
        assert "too old for zstd" in str(error)

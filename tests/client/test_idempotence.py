"""Idempotence: producer ids, sequence numbers, and how a broken sequence starts again."""

from __future__ import annotations

import pytest

from kafkawire.errors import (
    BrokerError,
    ConfigurationError,
    ErrorCode,
)
from tests.client.faces import SOON
from tests.client.records import QUICK, numbers, produced, send_numbers


def test_sequences_count_records_of_each_partition(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        for _ in range(3):
            p.send_many("many", [b"v"] * 7, partition=1)
            p.send_many("many", [b"v"] * 2, partition=2)
            p.flush(timeout=SOON)
    assert sorted(produced(kafka)) == [(1, 0, 7), (1, 7, 7), (1, 14, 7), (2, 0, 2), (2, 2, 2), (2, 4, 2)]
    assert len(kafka.journal.requests("InitProducerId")) == 1


@pytest.mark.parametrize(
    "options",
    [{"acks": 1}, {"acks": 0}, {"enable_idempotence": False}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}],
    ids=str,
)
def test_without_idempotence_no_id_is_asked_for(face, kafka, options):
    with face.Producer(bootstrap_servers=kafka.bootstrap, **options) as p:
        p.send("one", b"0").result(timeout=SOON)
    kafka.journal.wait_for("Produce")
    assert kafka.journal.requests("InitProducerId") == []
    assert produced(kafka) == [(0, -1, 1)]


def test_idempotence_that_is_not_allowed(face, kafka):
    kafka.fail("InitProducerId", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        assert p.send("one", b"0").result(timeout=SOON).offset == 0  # not asked for by name: done without
    with face.Producer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True) as p:
        error = p.send("one", b"1").exception(timeout=SOON)
        assert error.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        with pytest.raises(BrokerError):
            p.send("one", b"2")
        assert p.counts() == (1, 0, 1, 0)


def test_an_id_that_is_not_given_at_once(face, kafka):
    kafka.fail("InitProducerId", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=3)
    kafka.disconnect("InitProducerId", nth=2, times=1)
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        assert p.send("one", b"0").result(timeout=SOON).offset == 0
    assert produced(kafka) == [(0, 0, 1)]


@pytest.mark.parametrize(
    ("code", "times"),
    [
        (ErrorCode.UNKNOWN_PRODUCER_ID, 1),
        (ErrorCode.INVALID_PRODUCER_EPOCH, 1),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 12),  # at first it only tells that a batch before is missing
    ],
    ids=["UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER"],
)
def test_a_broken_sequence_starts_anew(face, kafka, code, times):
    """With a new producer id, from 0, for all partitions; nothing is lost, and the order is kept."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=1, **QUICK) as p:
        for d in send_numbers(p, 3):
            d.result(timeout=SOON)
        send_numbers(p, 1, "many", 1)[0].result(timeout=SOON)
        kafka.fail("Produce", code, topic="one", times=times)
        for d in send_numbers(p, 10, start=3):
            d.result(timeout=SOON)
        send_numbers(p, 1, "many", 1)[0].result(timeout=SOON)
    assert len(kafka.journal.requests("InitProducerId")) > 1
    assert numbers(kafka) == list(range(13))
    assert produced(kafka)[-1] == (1, 0, 1)


def test_after_a_batch_that_was_given_up_the_sequence_starts_anew(face, kafka):
    """Its numbers would be a gap that the broker never accepts (trap 65)."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=1, **QUICK) as p:
        p.send("one", b"0").result(timeout=SOON)
        kafka.fail("Produce", ErrorCode.INVALID_RECORD, times=1)
        assert p.send("one", b"bad").exception(timeout=SOON).error is ErrorCode.INVALID_RECORD
        for d in send_numbers(p, 5, start=1):
            d.result(timeout=SOON)
    assert numbers(kafka) == list(range(6))
    assert len(kafka.journal.requests("InitProducerId")) == 2


def test_a_repeat_that_the_broker_knows_is_a_success(face, kafka):
    kafka.fail("Produce", ErrorCode.DUPLICATE_SEQUENCE_NUMBER, times=1)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        assert p.send("one", b"0").result(timeout=SOON).offset is None


def test_contradictions(face, kafka):
    for options, text in (
        ({"acks": 1}, "acks=1"),
        ({"retries": 0}, "retries=0"),
        ({"max_in_flight_requests_per_connection": 6}, "at most 5"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            face.Producer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True, **options)

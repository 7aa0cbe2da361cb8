"""Answers that a sound broker does not give: records are read once all the same, and nobody asks for the like in a hurry."""

from __future__ import annotations

import pytest

from kafkawire.errors import BrokerError, CorruptRecordsError, DeliveryTimedOut, ErrorCode
from kafkawire.message import TopicPartition
from mockbroker.observe.fault import Fault
from tests.client.faces import SOON

ONE = TopicPartition("one", 0)
FROM_START = {"auto_offset_reset": "earliest"}
QUICK = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 20}
UNKNOWN_CODE = 32_000
SECONDS = 0.5


class PartitionsTwice(Fault, name="partitions_twice"):
    def change_response(self, response):
        response.responses = response.responses * 2


class BatchesTwice(Fault, name="batches_twice"):
    def change_response(self, response):
        for topic in response.responses:
            for partition in topic.partitions:
                partition.records = bytes(partition.records or b"") * 2


class FromZero(Fault, name="from_zero"):
    """The first batch says that its first offset is 0."""

    def change_response(self, response):
        for topic in response.responses:
            for partition in topic.partitions:
                if partition.records:
                    partition.records = bytes(8) + bytes(partition.records)[8:]


class NoPartitions(Fault, name="no_partitions"):
    def change_response(self, response):
        response.responses = []


class LogOfElsewhere(Fault, name="log_of_elsewhere"):
    """ListOffsets says that partitions begin where they do not."""

    def change_response(self, response):
        for topic in response.topics:
            for partition in topic.partitions:
                partition.offset = 5_000


class OddCode(Fault, name="odd_code"):
    def change_response(self, response):
        for topic in response.responses:
            for partition in getattr(topic, "partitions", None) or topic.partition_responses:
                partition.error_code = UNKNOWN_CODE


@pytest.fixture
def consumer(face, kafka):
    kafka.produce("one", *[b"%d" % i for i in range(10)])
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **FROM_START) as made:
        yield made


def fetches(kafka):
    return len(kafka.journal.requests("Fetch"))


@pytest.mark.parametrize("odd", [PartitionsTwice, BatchesTwice])
@pytest.mark.parametrize("read", ["poll", "poll_arrow"])
def test_what_comes_twice_in_an_answer_is_read_once(kafka, consumer, odd, read):
    kafka.faults.add(odd("Fetch"))
    found = getattr(consumer, read)(timeout=SOON)
    assert len(found) == 10
    assert consumer.position(ONE) == 10
    kafka.produce("one", b"10")
    assert len(getattr(consumer, read)(timeout=SOON)) == 1


def test_an_answer_that_is_silent_on_a_partition(kafka, consumer):
    with kafka.faults.add(NoPartitions("Fetch")):
        with pytest.raises(CorruptRecordsError, match=r"one partition 0 at offset 0: 5 answers.*silent on a partition"):
            consumer.poll(timeout=SOON)
        assert fetches(kafka) < 10
    assert len(consumer.poll(timeout=SOON)) == 10


def test_an_answer_with_nothing_but_what_came_before(kafka, consumer):
    """Records before the offset that was asked for, as if the answer were another's."""
    kafka.faults.add(FromZero("Fetch"))
    kafka.produce("one", b"10")
    consumer.seek(ONE, 10)
    with pytest.raises(CorruptRecordsError, match=r"one partition 0 at offset 10.*nothing but records before"):
        consumer.poll(timeout=SOON)


def test_a_position_that_one_broker_names_and_refuses(kafka, consumer):
    """There are pauses between resets, which grow while none of them leads anywhere."""
    kafka.faults.add(LogOfElsewhere("ListOffsets"))
    assert consumer.poll(timeout=SECONDS) == []
    assert 1 <= len(consumer.events()) < 10
    assert fetches(kafka) < 10
    kafka.faults.clear()
    assert len(consumer.poll(timeout=SOON)) == 10


def test_codes_of_errors_to_come_are_named(face, kafka, consumer):
    kafka.faults.add(OddCode(["Fetch", "Produce"]))
    with pytest.raises(BrokerError, match="error 32000, which this version") as caught:
        consumer.poll(timeout=SOON)
    assert (caught.value.code, caught.value.error) == (UNKNOWN_CODE, ErrorCode.UNKNOWN_SERVER_ERROR)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        assert "error 32000" in str(p.send("one", b"v").exception(timeout=SOON))


def test_a_broker_that_fails_to_give_an_id_once_does_not_end_idempotence(face, kafka):
    kafka.fail("InitProducerId", ErrorCode.UNKNOWN_SERVER_ERROR, times=1)
    with face.Producer(bootstrap_servers=kafka.bootstrap, **QUICK) as p:
        p.send("one", b"v").result(timeout=SOON)
    assert len(kafka.journal.requests("InitProducerId")) == 2


def test_an_id_that_is_never_given(face, kafka):
    kafka.fail("InitProducerId", ErrorCode.UNKNOWN_SERVER_ERROR)
    with face.Producer(bootstrap_servers=kafka.bootstrap, delivery_timeout_ms=2000, request_timeout_ms=1900, **QUICK) as p:
        error = p.send("one", b"v").exception(timeout=SOON)
    assert isinstance(error, DeliveryTimedOut)
    assert "no producer id can be had: InitProducerId: the broker failed" in str(error)

"""Records that meet trouble on their way: what is written is written once and in order, and what is not is said."""

from __future__ import annotations

import pytest

from kafkawire.errors import (
    BrokerError,
    ConfigurationError,
    DeliveryTimedOut,
    ErrorCode,
    MessageTooLargeError,
    NetworkError,
    TimedOut,
    UnsupportedVersionError,
)
from kafkawire.protocol.records import read_batches
from mockbroker import MockCluster
from tests.client.faces import SOON

QUICK = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 50, "reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50}


def numbers(kafka, topic="one", partition=0):
    return [int(message.value) for message in kafka.messages(topic, partition)]


def send_numbers(producer, count, topic="one", partition=0, start=0):
    """One batch each."""
    return [producer.send(topic, b"%d" % i, partition=partition) for i in range(start, start + count)]


def for_ever(call):
    while True:
        call()


def produced(kafka):
    """(partition, first sequence, number of records) of every batch that came."""
    found = []
    for exchange in kafka.journal.requests("Produce"):
        for topic in exchange.request.topic_data:
            for data in topic.partition_data:
                (batch,) = read_batches(data.records)
                found.append((data.index, batch.base_sequence, batch.count))
    return found


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
    with face.Producer(bootstrap_servers=kafka.bootstrap, delivery_timeout_ms=300, **QUICK) as p:
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


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_trap_60_batches_that_are_too_large_are_split(face, kafka, codec):
    kafka.create_topic("small", max_message_bytes=2000)
    values = [b"%d-" % i * 20 for i in range(300)]
    seen = []
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000, compression_type=codec) as p:
        singles = [
            p.send("small", value, b"k", headers=[("h", b"%d" % i)], on_delivery=lambda _, m: seen.append(m.offset))
            for i, value in enumerate(values[:150])
        ]
        rest = p.send_many("small", values[150:], timestamps=list(range(150)))
        p.flush(timeout=SOON)
        offsets = [d.result().offset for d in singles] + [m.offset for m in rest.result(timeout=SOON)]
        assert p.counts() == (300, 300, 0, 0)
    assert offsets == list(range(300))
    found = kafka.messages("small")
    assert [m.value for m in found] == values
    assert [m.timestamp for m in found[150:]] == list(range(150))
    assert [m.headers for m in found[:150]] == [(("h", b"%d" % i),) for i in range(150)]
    assert seen == list(range(150))


def test_trap_60_split_batches_keep_their_sequence(face, kafka):
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000, **QUICK) as p:
        first = p.send_many("small", [b"%d" % i + bytes(200) for i in range(20)])
        p.flush(timeout=SOON)
        kafka.disconnect("Produce", when="after", times=2)
        second = p.send_many("small", [b"%d" % i + bytes(200) for i in range(20, 40)])
        p.flush(timeout=SOON)
        assert [m.offset for m in first.result() + second.result()] == list(range(40))
    assert [int(m.value.rstrip(b"\0")) for m in kafka.messages("small")] == list(range(40))
    assert len(kafka.journal.requests("InitProducerId")) == 1


def test_one_record_that_is_too_large(face, kafka):
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000, **QUICK) as p:
        deliveries = [p.send("small", bytes(size)) for size in (10, 2000, 20)]
        p.flush(timeout=SOON)
        errors = [d.exception() for d in deliveries]
        assert [type(error) for error in errors] == [type(None), MessageTooLargeError, type(None)]
        assert "the topic's max.message.bytes or the broker's message.max.bytes" in str(errors[1])
        for send in (lambda: p.send("small", bytes(1_048_577)), lambda: p.send_many("small", [b"", bytes(1_048_577)])):
            with pytest.raises(MessageTooLargeError, match=r"'small': max_request_size is 1048576 bytes") as caught:
                send()
            assert "max.message.bytes" not in str(caught.value)
        with pytest.raises(MessageTooLargeError, match=r"^row 1, "):
            p.send_many("small", [b"", bytes(1_048_577)])
        assert p.counts() == (3, 2, 1, 0)
    assert [len(m.value) for m in kafka.messages("small")] == [10, 20]


def test_batches_keep_to_their_size(face, kafka):
    """Or brokers with Kafka's default of max.message.bytes would refuse those of the default batch_size."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        for _ in range(3000):
            p.send("one", bytes(1000))
    sizes = [len(e.request.topic_data[0].partition_data[0].records) for e in kafka.journal.requests("Produce")]
    assert max(sizes) <= 1_000_061
    assert max(sizes) > 900_000


@pytest.mark.parametrize("batch_size", [1, 100, 1000, 100_000])
def test_batch_size(face, kafka, batch_size):
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=batch_size, linger_ms=60_000) as p:
        for i in range(300):
            p.send("one", b"%d" % i + bytes(90))
        p.send("one", bytes(5000))
        p.flush(timeout=SOON)
    for exchange in kafka.journal.requests("Produce"):
        (batch,) = read_batches(exchange.request.topic_data[0].partition_data[0].records)
        assert batch.count == 1 or batch.size <= batch_size + 61
    assert len(kafka.messages("one")) == 301


def test_keyed_records_stay_in_their_partition_when_batches_are_full(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=500, linger_ms=60_000) as p:
        for i in range(400):
            p.send("many", bytes(40), b"key")
            p.send("many", bytes(40), partition=3)
            p.send_many("many", [bytes(40)] * 3, partition=2)
            if i % 3 == 0:
                p.send("many", bytes(40))
        d = p.send("many", b"", b"key")
        p.flush(timeout=SOON)
        home = d.result().partition
    assert {m.partition for m in kafka.messages("many") if m.key} == {home}
    keyless = [len([m for m in kafka.messages("many", i) if m.key is None]) for i in range(4)]
    assert keyless[3] >= 400
    assert keyless[2] >= 1200


def test_linger_gathers_and_flush_hurries(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        p.send("one", b"0")
        p.flush(timeout=SOON)
        kafka.journal.clear()
        deliveries = send_numbers(p, 100)
        with pytest.raises(TimeoutError):
            deliveries[0].result(timeout=0.1)
        assert kafka.journal.requests("Produce") == []
        p.flush(timeout=SOON)
        assert all(d.done() for d in deliveries)
        assert len(produced(kafka)) == 1
        assert not send_numbers(p, 1)[0].done()
        assert p.counts().queued == 1


def test_linger_ends(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=50) as p:
        p.send("one", b"0").result(timeout=SOON)
        for d in send_numbers(p, 10):
            d.result(timeout=SOON)
    assert sum(count for _, _, count in produced(kafka)) == 11
    assert len(produced(kafka)) <= 3


def test_a_full_buffer_blocks_and_goes_on(face, kafka):
    kafka.delay("Produce", 0.05)
    with face.Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=200_000, batch_size=50_000, linger_ms=60_000) as p:
        for i in range(100):
            p.send("many", b"%d" % i + bytes(10_000), partition=i % 4)
            assert p.counts().queued <= 20
        many = p.send_many("many", [bytes(10_000)] * 100)
        p.flush(timeout=SOON)
        assert len(many.result(timeout=SOON)) == 100
        assert p.counts() == (200, 200, 0, 0)


@pytest.mark.parametrize("size", [10, 60_000, 150_000])
def test_a_full_buffer_that_does_not_empty(face, kafka, size):
    fault = kafka.drop("Produce")
    with face.Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=200_000, max_block_ms=200, linger_ms=0) as p:
        with pytest.raises(TimedOut, match=r"no room in the buffer within max_block_ms; .* queued in buffer_memory=200000"):
            for_ever(lambda: p.send("one", bytes(size)))
        with pytest.raises(TimedOut):
            p.send_many("one", [bytes(size)] * 30_000)
        counts = p.counts()
        assert counts.accepted == counts.queued
        assert counts.queued * size <= 200_000
        fault.clear()
        p.close(timeout=0)
        assert p.counts() == (counts.accepted, 0, counts.accepted, 0)


def test_a_record_larger_than_the_buffer(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=1000) as p:
        for _ in range(3):
            p.send("one", bytes(100_000))
        p.send_many("one", [bytes(100_000)] * 3)
        p.flush(timeout=SOON)
    assert len(kafka.messages("one")) == 6


def test_throttling_is_kept_to(face, kafka):
    kafka.throttle("Produce", 300, times=1)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        for d in [*send_numbers(p, 1), *send_numbers(p, 1, start=1)]:
            d.result(timeout=SOON)
        p.send("one", b"2").result(timeout=SOON)
    times = [e.time for e in kafka.journal.requests("Produce")]
    assert times[1] - times[0] >= 0.29


def test_acks_0_says_when_it_knows_that_a_record_is_lost(face):
    options = {"acks": 0, "delivery_timeout_ms": 500, **QUICK}
    with MockCluster(brokers=1, topics={"one": 1}) as kafka, face.Producer(bootstrap_servers=kafka.bootstrap, **options) as p:
        p.send("one", b"0").result(timeout=SOON)
        kafka.brokers[1].stop()
        errors = [p.send("one", b"lost").exception(timeout=SOON) for _ in range(3)]
        assert isinstance(errors[-1], NetworkError | DeliveryTimedOut)
        counts = p.counts()
        assert counts.accepted == counts.acknowledged + counts.failed == 4


def test_contradictions(face, kafka):
    for options, text in (
        ({"acks": 1}, "acks=1"),
        ({"retries": 0}, "retries=0"),
        ({"max_in_flight_requests_per_connection": 6}, "at most 5"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            face.Producer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True, **options)


def test_trap_58_zstd_with_a_broker_that_is_too_old(face):
    with (
        MockCluster(brokers=1, topics={"one": 1}, version="2.0") as kafka,
        face.Producer(bootstrap_servers=kafka.bootstrap, compression_type="zstd") as p,
    ):
        error = p.send("one", b"v").exception(timeout=SOON)
        assert isinstance(error, UnsupportedVersionError)
        assert "too old for zstd" in str(error)

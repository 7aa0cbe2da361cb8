"""Several threads at one producer while brokers misbehave, under thread switches at every turn; and fork()."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import defaultdict
from typing import Any

import pytest

import kafkawire
from kafkawire.errors import ErrorCode, ForkedError, KafkaError
from tests.client.faces import SOON

QUICK: dict[str, Any] = {
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 50,
    "reconnect_backoff_ms": 5,
    "reconnect_backoff_max_ms": 50,
}


@pytest.fixture
def restless():
    """Threads switch as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def disturb(kafka, over, chance):
    """Move leaders, cut links, lose answers."""
    while not over.is_set():
        what = chance.randrange(4)
        if what == 0:
            kafka.move_leader("many", chance.randrange(4), chance.choice((1, 2, 3)))
        elif what == 1:
            kafka.disconnect("Produce", when=chance.choice(("before", "after")), times=1)
        elif what == 2:
            kafka.cut("Produce", chance.randrange(30), times=1)
        else:
            kafka.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=1)
        over.wait(chance.random() * 0.05)


def stress(kafka, seconds, threads=4):
    """Each thread sends numbered records under keys of its own, now one by one, now many at once."""

    def send(number):
        try:
            chance, sent = random.Random(number), 0
            while time.monotonic() < end:
                keys = [b"%d %d" % (number, chance.randrange(3)) for _ in range(20)]
                if chance.random() < 0.5:
                    handles = [p.send("many", b"%d" % (sent + i), key) for i, key in enumerate(keys)]
                    results = handles[-1].result(timeout=SOON) if chance.random() < 0.2 else None
                    assert results is None or results.offset is not None
                else:
                    p.send_many("many", [b"%d" % (sent + i) for i in range(20)], keys)
                sent += 20
                if chance.random() < 0.05:
                    p.flush(timeout=SOON)
            totals.append(sent)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    errors: list[BaseException] = []
    totals: list[int] = []
    over = threading.Event()
    end = time.monotonic() + seconds
    with kafkawire.Producer(
        bootstrap_servers=kafka.bootstrap, batch_size=2_000, linger_ms=1, buffer_memory=500_000, **QUICK
    ) as p:
        workers = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
        trouble = threading.Thread(target=disturb, args=(kafka, over, random.Random(1)))
        for thread in (*workers, trouble):
            thread.start()
        for thread in workers:
            thread.join()
        over.set()
        trouble.join()
        kafka.faults.clear()
        p.flush(timeout=SOON)
        counts = p.counts()
    if errors:
        raise errors[0]
    assert counts == (sum(totals), sum(totals), 0, 0)
    by_key = defaultdict(list)
    partitions = defaultdict(set)
    for message in kafka.messages("many"):
        by_key[message.key].append(int(message.value))
        partitions[message.key].add(message.partition)
    assert sum(map(len, by_key.values())) == counts.acknowledged, "lost or written twice"
    for key, numbers in by_key.items():
        assert numbers == sorted(set(numbers)), f"out of order under key {key!r}"
        assert len(partitions[key]) == 1
    return counts.acknowledged


@pytest.mark.usefixtures("restless")
def test_threads_and_trouble(kafka):
    assert stress(kafka, 2.0)


@pytest.mark.heavy
@pytest.mark.usefixtures("restless")
def test_threads_and_trouble_for_long(kafka):
    assert stress(kafka, 30.0)


@pytest.mark.usefixtures("restless")
def test_many_threads_wait_for_one_record(kafka):
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=100) as p:
        d = p.send("one", b"v")
        found = []
        threads = [threading.Thread(target=lambda: found.append(d.result(timeout=SOON).offset)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [0] * 20


@pytest.mark.usefixtures("restless")
def test_closing_while_others_send(kafka):
    """Each record is refused, or accepted and then written or failed."""

    def send():
        try:
            while True:
                handles.append(p.send("one", b"v"))
        except KafkaError:
            refused.append(1)

    handles: list[Any] = []
    refused: list[int] = []
    p = kafkawire.Producer(bootstrap_servers=kafka.bootstrap)
    p.send("one", b"v").result(timeout=SOON)
    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    kafka.journal.wait_for("Produce", count=3)
    p.close(timeout=SOON)
    for thread in threads:
        thread.join()
    assert len(refused) == 4
    assert all(handle.exception(timeout=SOON) is None for handle in handles)
    assert p.counts() == (len(handles) + 1, len(handles) + 1, 0, 0)
    assert len(kafka.messages("one")) == len(handles) + 1


def test_callbacks_may_use_the_producer(kafka):
    """Send, wait and even close."""
    offsets = []

    def again(_error, metadata):
        offsets.append(metadata.offset)
        if metadata.offset < 5:
            p.send("one", b"v", on_delivery=again)
            p.flush(timeout=SOON)
        else:
            p.close(timeout=SOON)
            closed.set()

    closed = threading.Event()
    p = kafkawire.Producer(bootstrap_servers=kafka.bootstrap)
    p.send("one", b"v", on_delivery=again)
    assert closed.wait(SOON / 3)
    p.close()
    assert offsets == list(range(6))


def in_child(act):
    """Text of the result of `act` in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, repr(act()).encode())
        except BaseException as error:  # noqa: BLE001 - the parent asserts on it
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_gets_an_error_and_the_parent_goes_on(kafka):
    def use():
        found: list[Any] = []
        for call in (
            lambda: p.send("one", b"of the child"),
            lambda: p.send("many", b"of the child"),
            lambda: p.send_many("one", [b"of the child"]),
            lambda: queued.result(timeout=1),
            lambda: p.flush(timeout=1),
            lambda: c.poll(timeout=1),
            lambda: connection.topics(timeout=1),
        ):
            try:
                found.append(call())
            except ForkedError:
                found.append("ForkedError")
        return found

    kafka.produce("many", b"v")
    with (
        kafkawire.Connection(kafka.bootstrap) as connection,
        kafkawire.Producer(connection=connection, linger_ms=500) as p,
        kafkawire.Consumer("many", connection=connection, auto_offset_reset="earliest") as c,
    ):
        p.send("one", b"0")
        p.flush(timeout=SOON)
        assert len(c.poll(timeout=SOON)) == 1
        queued = p.send("one", b"1")
        assert in_child(use) == repr(["ForkedError"] * 7)
        assert queued.result(timeout=SOON).offset == 1
        p.send("one", b"2")
        p.flush(timeout=SOON)
        kafka.produce("many", b"w")
        assert len(c.poll(timeout=SOON)) == 1
        assert connection.topics() == ["many", "one"]
    assert [m.value for m in kafka.messages("one")] == [b"0", b"1", b"2"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_of_a_busy_parent(kafka):
    """The child does not wait for locks that other threads of the parent held."""

    def use():
        try:
            p.send("one", b"of the child")
        except ForkedError:
            return "ForkedError"

    def send():
        while not over.is_set():
            p.send("one", b"v")

    over = threading.Event()
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send("one", b"v").result(timeout=SOON)
        thread = threading.Thread(target=send)
        thread.start()
        said = [in_child(use) for _ in range(20)]
        over.set()
        thread.join()
        p.flush(timeout=SOON)
        assert p.counts().accepted == len(kafka.messages("one"))
    assert said == [repr("ForkedError")] * 20
    assert b"of the child" not in {m.value for m in kafka.messages("one")}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_closes_its_copies_without_a_word_to_the_brokers(kafka, caplog):
    """The child does not wait for locks of the parent's threads, and does not send the parent's queued records."""

    def close():
        with kafkawire.Producer(connection=connection) as own:
            assert own.counts().accepted == 0
        for made in (p, c, connection, p, c, connection):
            made.close()
        with p:
            pass
        return [record.getMessage() for record in caplog.records if "child" in record.getMessage()]

    with (
        kafkawire.Connection(kafka.bootstrap) as connection,
        kafkawire.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p,
        kafkawire.Consumer("many", connection=connection, auto_offset_reset="earliest") as c,
    ):
        kafka.produce("many", b"v")
        assert len(c.poll(timeout=SOON)) == 1
        queued = [p.send("one", b"v") for _ in range(3)]
        said = in_child(close)
        assert "the 3 records that were queued are left to the parent process" in said
        assert said.count("records that were queued") == 1
        p.flush(timeout=SOON)
        assert [d.result(timeout=SOON).offset for d in queued] == [0, 1, 2]
        kafka.produce("many", b"w")
        assert len(c.poll(timeout=SOON)) == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_of_a_busy_parent_can_close(kafka):
    def send():
        while not over.is_set():
            p.send("one", b"v").done()

    over = threading.Event()
    with kafkawire.Producer(bootstrap_servers=kafka.bootstrap, batch_size=200, linger_ms=0) as p:
        p.send("one", b"v").result(timeout=SOON)
        thread = threading.Thread(target=send)
        thread.start()
        said = [in_child(p.close) for _ in range(20)]
        over.set()
        thread.join()
    assert said == ["None"] * 20

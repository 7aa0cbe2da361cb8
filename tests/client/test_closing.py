"""flush() and close() of a producer: deadlines, counts, and use after close."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kafkawire.errors import (
    ClosedError,
    MessageTooLargeError,
    TimedOut,
)
from tests.client.faces import SOON


def test_without_acknowledgement_nothing_is_lost_by_closing(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, acks=0) as p:
        for _ in range(20):
            p.send_many("one", [bytes(100_000)] * 20)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        found = 0
        while found < 400 and (polled := c.poll(timeout=SOON)):
            found += len(polled)
    assert found == 400


def test_use_after_close(face, kafka):
    p = face.Producer(bootstrap_servers=kafka.bootstrap)
    d = p.send("one", b"v")
    p.close()
    p.close()
    assert d.result().offset == 0
    for call in (lambda: p.send("one", b"v"), lambda: p.send_many("one", [b"v"]), lambda: p.send("other", b"v")):
        with pytest.raises(ClosedError, match="make a new one"):
            call()
    p.flush(timeout=SOON)
    assert p.counts() == (1, 1, 0, 0)


def test_closing_what_was_never_used(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.flush(timeout=SOON)
        assert p.counts() == (0, 0, 0, 0)
    assert kafka.journal.requests() == []


def test_close_gives_up_at_its_deadline(face, kafka):
    kafka.drop("Produce")
    p = face.Producer(bootstrap_servers=kafka.bootstrap)
    deliveries = [p.send("many", b"v", partition=i) for i in range(4)]
    kafka.journal.wait_for("Produce")
    deliveries += [p.send("many", b"v", partition=i) for i in range(4)]
    p.close(timeout=0.1)
    for d in deliveries:
        assert isinstance(d.exception(timeout=SOON), ClosedError)
    assert p.counts() == (8, 0, 8, 0)


def test_flush_has_a_deadline(face, kafka):
    fault = kafka.delay("Produce", 3600)
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        d = p.send("one", b"v")
        with pytest.raises(TimedOut, match="1 of 1 records"):
            p.flush(timeout=0.05)
        with pytest.raises(TimeoutError):
            d.result(timeout=0.05)
        assert not d.done()
        assert p.counts() == (1, 0, 0, 1)
        fault.clear()
        p.close(timeout=0)
    assert p.counts() == (1, 0, 1, 0)


def test_counts_balance_at_every_moment(face, kafka):
    def watch():
        while not over.is_set():
            counts = p.counts()
            if counts.accepted != counts.acknowledged + counts.failed + counts.queued:
                wrong.append(counts)

    over = threading.Event()
    wrong: list[Any] = []
    kafka.create_topic("small", max_message_bytes=1000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, batch_size=2000) as p:
        p.send("many", b"v").result(timeout=SOON)
        p.send("small", b"v").result(timeout=SOON)
        watcher = threading.Thread(target=watch)
        watcher.start()
        asked = []
        for i in range(60):
            p.send("many", bytes(300), b"%d" % i)
            p.send("small", bytes(300))
            asked.append(p.send("small", bytes(1100 if i % 20 == 0 else 10)))
        p.flush(timeout=SOON)
        assert [type(d.exception()) for d in asked[::20]] == [MessageTooLargeError] * 3
        over.set()
        watcher.join()
        assert not wrong
        assert p.counts() == (182, 179, 3, 0)

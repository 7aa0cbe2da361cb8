"""Iterating over a consumer: where it stops, and that breaking off loses nothing."""

from __future__ import annotations

from tests.client.faces import SOON
from tests.client.records import ONE, fill, take


def test_ways_of_reading_mix(face, kafka):
    """Each goes on where the other stopped."""
    fill(kafka, 100)
    offsets: list[int] = []
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        while len(offsets) < 100:
            for message in c:
                offsets.append(message.offset)
                if len(offsets) % 5 == 0:
                    break
            assert c.position(ONE) == len(offsets)
            if len(offsets) < 100:
                offsets += c.poll_arrow(timeout=SOON, max_records=3).column("offset").to_pylist()
            if len(offsets) < 100:
                offsets += [m.offset for m in c.poll(timeout=SOON, max_records=2)]
            assert c.position(ONE) == len(offsets)
    assert offsets == list(range(100))


def asked(kafka):
    """Partitions in the Fetch requests so far."""
    return [p for exchange in kafka.journal.requests("Fetch") for topic in exchange.request.topics for p in topic.partitions]


def test_iteration_loses_nothing_of_the_partitions_that_stay_assigned(face, kafka):
    """Records of one were handed out, and those of the other are fetched."""
    for partition in range(2):
        fill(kafka, 20, "many", partition)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        c.assign([("many", 0), ("many", 1)])
        while {p.partition for p in asked(kafka) if p.fetch_offset == 20} != {0, 1}:
            c.poll(timeout=0.05, max_records=0)
        message = next(iter(c))
        c.assign([("many", 1 - message.partition)])
        assert [m.offset for m in take(c, 20)] == list(range(20))


def test_iteration_stops_at_the_end_that_it_found(face, kafka):
    for partition in (0, 2):
        fill(kafka, 20, "many", partition)
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert len(list(c)) == 40
        assert list(c) == []
        fill(kafka, 5, "many", 1)
        assert [m.offset for m in c] == list(range(5))


def test_iteration_of_nothing_stops(face, kafka):
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, stop_at_end=True) as c:
        assert list(c) == []


def test_iteration_stops_after_silence(face, kafka):
    fill(kafka, 20)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=1_000) as c:
        assert len(list(c)) == 20
        assert list(c) == []


def test_breaking_off_loses_nothing(face, kafka):
    fill(kafka, 50)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        offsets: list[int] = []
        while len(offsets) < 50:
            for message in c:
                offsets.append(message.offset)
                if len(offsets) % 7 == 0:
                    break
    assert offsets == list(range(50))


def test_stop_at_end_does_not_wait_for_paused_partitions(face, kafka):
    """Nobody but the iterating thread could resume them. Iteration goes on where it was once they are."""
    fill(kafka, 3, "many", 0)
    fill(kafka, 2, "many", 1)
    with face.Consumer("many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        c.pause(("many", 0))
        assert [m.partition for m in c] == [1, 1]
        c.resume(("many", 0))
        seen = []
        for message in c:
            seen.append(message.offset)
            if message.offset == 1:
                c.pause(("many", 0))
        assert seen == [0, 1]
        c.resume(("many", 0))
        assert [m.offset for m in c] == [2]

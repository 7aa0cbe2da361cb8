"""Fetch requests of a consumer: what is asked for ahead, for whom, in which order, and record batches that are odd."""

from __future__ import annotations

from struct import pack_into

import pytest

from kafkawire.errors import (
    BrokerError,
    CorruptRecordsError,
    ErrorCode,
)
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records import encode_record, seal_batch
from mockbroker.state.log import Batch
from tests.client.faces import SOON
from tests.client.records import ONE, fill, take


def test_both_leaders_of_a_move_are_asked_and_one_is_heard(face, kafka):
    """The answer of the old one comes when that of the new one has been taken in."""
    fill(kafka, 30)
    old = kafka.leader("one", 0)
    with (
        face.Connection(kafka.bootstrap) as connection,
        face.Consumer(connection=connection, auto_offset_reset="earliest", fetch_max_wait_ms=20) as c,
        kafka.hold("Fetch", when="after", broker=old) as barrier,
    ):
        c.assign([ONE])
        while not barrier.held:
            assert c.poll(timeout=0.05) == []
        kafka.move_leader("one", 0, 3 - old)
        connection.refresh(timeout=SOON)
        found = c.poll(timeout=SOON)
        barrier.release()
        found += c.poll(timeout=0.4)
    assert [m.offset for m in found] == list(range(30))


def test_two_consumers_on_one_connection(face, kafka):
    """Neither waits behind the long fetch of the other."""
    fill(kafka, 3)
    with face.Connection(kafka.bootstrap) as connection:
        options = {"connection": connection, "fetch_max_wait_ms": 60_000, "auto_offset_reset": "earliest"}
        with face.Consumer("one", **options) as a, face.Consumer("one", **options) as b:
            take(a, 3)
            a.poll(timeout=0.05)
            take(b, 3)
            b.poll(timeout=0.05)
            b.close()
            fill(kafka, 1)
            take(a, 1)


def test_trap_31_32_33_gaps_and_empty_batches_are_passed(face, kafka):
    """Positions come from batches: the last records of one may be gone."""
    kafka.call(lambda: append_compacted(kafka, kept=(0, 7), last=9))
    kafka.call(lambda: append_compacted(kafka, kept=(), last=4))
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert [m.offset for m in c] == [0, 7]
        assert c.position(ONE) == 15
    with face.Consumer(bootstrap_servers=kafka.bootstrap) as c:
        c.assign([ONE])
        c.seek(ONE, 8)
        while c.position(ONE) < 15:
            assert c.poll_arrow(timeout=0.2).num_rows == 0
        assert c.position(ONE) == 15


def append_compacted(kafka, kept, last, **sealing):
    """Put a batch into the log as compaction leaves it: with gaps, up to the offset of a record that is gone."""
    log = kafka.cluster.partition("one", 0).log
    parts = [encode_record(delta, 0, None, b"v") for delta in kept]
    data = bytearray(seal_batch(parts, count=len(kept), base_timestamp=0, max_timestamp=0, **sealing))
    pack_into(">q", data, 0, log.log_end_offset)
    pack_into(">i", data, 23, last)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    log.append(Batch(bytes(data), log.log_end_offset + last, 0))


def test_trap_79_control_batches_are_passed(face, kafka):
    fill(kafka, 2)
    kafka.call(lambda: append_compacted(kafka, kept=(0,), last=0, control=True, transactional=True))
    fill(kafka, 1, start=3)
    kafka.call(lambda: append_compacted(kafka, kept=(0,), last=0, control=True, transactional=True))
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert [m.offset for m in c] == [0, 1, 3]
        assert c.position(ONE) == 5
        c.seek(ONE, 2)
        assert [m.offset for m in c.poll(timeout=SOON)] == [3]
        assert [m.offset for m in c.fetch("one", 0, 1)] == [1, 3]


def test_trap_43_what_unpacks_to_too_much_is_refused(face, kafka):
    """A limit for each batch: one that is over it by itself hides none of the others."""
    with face.Producer(bootstrap_servers=kafka.bootstrap, compression_type="gzip") as p:
        for size in (900, 900, 5000, 900):
            p.send("one", bytes(size)).result(timeout=SOON)
    options = {"auto_offset_reset": "earliest", "max_decompressed_bytes": 1000, "bootstrap_servers": kafka.bootstrap}
    for read in ("poll", "poll_arrow"):
        with face.Consumer("one", **options) as c:
            found = sum(len(getattr(c, read)(timeout=SOON, max_records=1)) for _ in range(2))
            assert found == 2
            with pytest.raises(CorruptRecordsError, match=r"partition 0 at offset 2: .* more than 1000 bytes.*seek past it"):
                getattr(c, read)(timeout=SOON)
            c.seek(ONE, 3)
            assert len(getattr(c, read)(timeout=SOON)) == 1
            with pytest.raises(CorruptRecordsError, match="more than 1000 bytes"):
                c.fetch("one", 0, 2)


def test_the_next_fetch_is_on_its_way_while_records_are_used(face, kafka):
    fill(kafka, 10)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        take(c, 1, max_records=1)
        c.poll(timeout=SOON, max_records=1)
        assert [e.request.topics[0].partitions[0].fetch_offset for e in kafka.journal.wait_for("Fetch", count=2)][:2] == [0, 10]


def test_what_runs_ahead_is_bounded(face, kafka):
    for _ in range(20):
        kafka.produce("one", bytes(50_000))
    options = {"fetch_max_bytes": 100_000, "max_partition_fetch_bytes": 50_000, "auto_offset_reset": "earliest"}
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, **options) as c:
        assert len(take(c, 20, max_records=1)) == 20
        kafka.journal.clear()
        c.seek(ONE, 0)
        take(c, 1, max_records=1)
        for _ in range(3):
            c.poll(timeout=0, max_records=0)
        assert len(kafka.journal.requests("Fetch")) <= 4


def test_paused_partitions_are_not_fetched(face, kafka):
    fill(kafka, 10, "many", 0)
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=10) as c:
        c.assign([("many", 0), ("many", 1)])
        c.pause(("many", 0))
        while len(kafka.journal.requests("Fetch")) < 3:
            assert c.poll(timeout=0.05) == []
        asked = [p.partition for e in kafka.journal.requests("Fetch") for t in e.request.topics for p in t.partitions]
        assert set(asked) == {1}


def test_no_partition_starves_the_others(face, kafka):
    """Each answer has room for one batch only; whose turn it is goes round (trap 99)."""
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_bytes=3000) as c:
        for partition in range(4):
            kafka.move_leader("many", partition, 1)
            for _ in range(10):
                kafka.produce("many", bytes(2500), partition=partition)
        c.assign([("many", partition) for partition in range(4)])
        order = [m.partition for m in take(c, 40, max_records=1)]
    for at in range(0, 32, 4):
        assert len(set(order[at : at + 4])) == 4, order


@pytest.mark.parametrize("code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_errors_for_good_come_out_and_reading_goes_on(face, kafka, code):
    fill(kafka, 5)
    fault = kafka.fail("Fetch", code)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        with pytest.raises(BrokerError, match="one partition 0") as caught:
            c.poll(timeout=SOON)
        assert caught.value.error is code
        fault.clear()
        assert len(take(c, 5)) == 5


def test_an_error_is_not_put_off_by_records_of_others(face, kafka, monkeypatch):
    """There may be some at every call, for ever."""
    monkeypatch.setattr("kafkawire.core.consume.flows.ERROR_WAITS", 0.001)
    kafka.move_leader("many", 0, kafka.leader("one", 0))
    fill(kafka, 1000, "many")
    kafka.fail("Fetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="one")
    with face.Consumer("one", "many", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        rows: list[int] = []
        with pytest.raises(BrokerError, match="one partition 0"):
            rows.extend(iter(lambda: c.poll_arrow(timeout=SOON, max_records=1).num_rows, 0))
        assert 0 < len(rows) < 1000

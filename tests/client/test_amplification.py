"""Trap 43: kilobytes on the wire that unpack to a hundred megabytes, or to millions of records, are read in slices."""

from __future__ import annotations

import subprocess
import sys
from struct import pack_into

import pytest

import kafkawire
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records import encode_record, seal_batch
from mockbroker.state.log import Batch
from tests import bare
from tests.client.faces import SOON

MB = 1 << 20
WIDE, NARROW = (5, 100, MB), (1, 3_000_000, 0)
"""Batches, records in each, bytes in the value of each: 500 MB in 500 records; or 21 MB of records, 200 MB as columns."""
BOUND = 250
"""Megabytes: one batch, its pieces while it is unpacked, and a poll of them."""

CHILD = """
import resource, sys
from kafkawire import Consumer
from kafkawire.protocol.records import no_rows

how, bootstrap = sys.argv[1:]
if how == "poll_arrow":
    no_rows()  # pyarrow takes memory of its own
with Consumer("one", bootstrap_servers=bootstrap, auto_offset_reset="earliest") as c:
    c.assign([("one", 0)])
    c.position(("one", 0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if how == "poll":
        found = len(c.poll(timeout=60))
    elif how == "poll_arrow":
        found = c.poll_arrow(timeout=60).num_rows
    elif how == "fetch":
        found = len(c.fetch("one", 0, 0))
    else:
        found = next(iter(c)).offset + 1
    print(found, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def amplifying(count, size):
    """A batch of records of zeros, gzip, as small as it gets."""
    if size:
        records = b"".join(encode_record(i, 0, None, bytes(size)) for i in range(count))
    else:
        records = encode_record(0, 0, None, b"") * count  # the last offset delta of the header is what counts
    data = bytearray(seal_batch([compress(Codec.GZIP, records)], count=1, base_timestamp=0, max_timestamp=0))
    data[22] |= Codec.GZIP
    pack_into(">i", data, 23, count - 1)
    pack_into(">i", data, 57, count)
    return data


def append(log, count, size, batches):
    data = amplifying(count, size)
    for _ in range(batches):
        pack_into(">q", data, 0, log.log_end_offset)
        pack_into(">I", data, 17, crc32c(bytes(data[21:])))
        log.append(Batch(bytes(data), log.log_end_offset + count - 1, 0))


@pytest.mark.parametrize("how", ["poll", "poll_arrow", "iterate", "fetch"])
@pytest.mark.parametrize("shape", [WIDE, NARROW], ids=["wide", "narrow"])
def test_memory_is_bounded_by_one_batch(kafka, how, shape):
    if how == "poll_arrow":
        bare.package("pyarrow")  # in the child nothing is hidden, but there may be none
    batches, count, size = shape
    kafka.call(lambda: append(kafka.cluster.partition("one", 0).log, count, size, batches))
    ran = subprocess.run([sys.executable, "-c", CHILD, how, kafka.bootstrap], capture_output=True, text=True, check=True)
    found, grown = map(int, ran.stdout.split())
    assert 0 < found <= 1_000_000
    assert grown < BOUND, f"{grown} MB for {found} records"


def test_every_record_of_a_large_batch_is_read_once(face, kafka):
    """Across slices of the batch, small batches before and behind it, and seeks into it."""
    sizes = (10, 170_000, 30)
    with kafkawire.Producer(
        bootstrap_servers=kafka.bootstrap,
        compression_type="lz4",
        batch_size=16 * MB,
        max_request_size=16 * MB,
        linger_ms=60_000,
    ) as p:
        for count in sizes:
            p.send_many("one", [b"%d" % i for i in range(count)])
            p.flush(timeout=SOON)
    total = sum(sizes)
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        offsets: list[int] = []
        while len(offsets) < total:
            offsets += [m.offset for m in c.poll(timeout=SOON, max_records=7_001)]
            assert c.position(("one", 0)) == offsets[-1] + 1
        assert offsets == list(range(total))
        for where in (9, 60_000, 169_999):
            c.seek(("one", 0), where)
            assert c.poll_arrow(timeout=SOON, max_records=2).column("offset").to_pylist() == [where, where + 1]
            assert [m.offset for m in c.poll(timeout=SOON, max_records=1)] == [where + 2]
        assert [m.offset for m in c.fetch("one", 0, 100_000, max_bytes=16 * MB)] == list(range(100_000, total))

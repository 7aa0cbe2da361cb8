"""The buffer of fetched records."""

from __future__ import annotations

from kafkawire.core.consume.buffer import Buffer, FetchedBatches
from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.message import TopicPartition
from kafkawire.protocol.records import encode_record, read_batches, seal_batch


def fetched(state, start, count):
    parts = [encode_record(i, 0, None, b"v") for i in range(count)]
    batch = bytearray(seal_batch(parts, count=count, base_timestamp=0, max_timestamp=0))
    batch[:8] = start.to_bytes(8, "big")
    return FetchedBatches.of(state, start, list(read_batches(batch)), 1000)


def test_a_buffer_forgets_what_was_sought_away_from():
    a, b = (PartitionState(TopicPartition("t", index), -2) for index in range(2))
    a.seek(0, 0)
    b.seek(0, 0)
    (records,) = fetched(a, 0, 3).decoded()
    buffer = Buffer().add([records, fetched(b, 0, 3), fetched(a, 3, 3)]).after(0, 2)
    assert (buffer.position(a), buffer.fetch_offset(a), buffer.position(b), buffer.fetch_offset(b)) == (2, 6, 0, 3)
    a.seek(100, 100)
    assert (buffer.position(a), buffer.fetch_offset(a), buffer.holds(a)) == (100, 100, False)
    assert buffer.size() == buffer.pieces[1].size
    buffer = buffer.add([fetched(b, 3, 1)])
    assert [piece.state for piece in buffer.pieces] == [b, b]
    assert (buffer.row, buffer.position(b), buffer.fetch_offset(b)) == (0, 0, 4)

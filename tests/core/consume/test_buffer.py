"""The buffer of fetched records."""

from __future__ import annotations

from kafkawire.core.consume.buffer import Buffer, Packed
from kafkawire.core.consume.subscription import PartitionState
from kafkawire.message import TopicPartition
from kafkawire.protocol.records import encode_record, read_batches, seal_batch


def segment(state, start, count):
    parts = [encode_record(i, 0, None, b"v") for i in range(count)]
    batch = bytearray(seal_batch(parts, count=count, base_timestamp=0, max_timestamp=0))
    batch[:8] = start.to_bytes(8, "big")
    return Packed.of(state, start, list(read_batches(batch)), 1000)


def test_a_buffer_forgets_what_was_sought_away_from():
    a, b = (PartitionState(TopicPartition("t", index), -2) for index in range(2))
    a.position = b.position = 0
    (records,) = segment(a, 0, 3).opened()
    buffer = Buffer().add([records, segment(b, 0, 3), segment(a, 3, 3)]).after(0, 2)
    assert (buffer.position(a), buffer.end(a), buffer.position(b), buffer.end(b)) == (2, 6, 0, 3)
    a.seek(100, 100)
    assert (buffer.position(a), buffer.end(a), buffer.holds(a)) == (100, 100, False)
    assert buffer.size() == buffer.pieces[1].size
    buffer = buffer.add([segment(b, 3, 1)])
    assert [s.state for s in buffer.pieces] == [b, b]
    assert (buffer.row, buffer.position(b), buffer.end(b)) == (0, 0, 4)

"""Reading record batches of format 2: every form that a broker may send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.records import decode_columns, messages, read_batches
from kafkawire.protocol.wire import Buffer
from tests import bare
from tests.protocol.optional import with_and_without
from tests.protocol.records_by_hand import LOG_APPEND_TIME, batch, record, varint

__all__ = ["with_and_without"]

MANY = 100
"""Enough records for the vectorised way to be taken."""


def decode(data: Buffer, **options: int) -> records.RecordColumns:
    return decode_columns(read_batches(data), **options)


def offsets(data: Buffer) -> list[int]:
    return list(decode(data).offsets)


def times(data: Buffer) -> list[int]:
    return list(decode(data).timestamps)


def test_header_fields():
    data = batch([record(0), record(1)], base_offset=50, attributes=0x08 | 0x10 | 0x20, producer=(4000, 5, 6))
    (found,) = read_batches(data)
    assert (found.magic, found.base_offset, found.next_offset, found.leader_epoch, found.count) == (2, 50, 52, 7, 2)
    assert (found.codec, found.timestamp_type, found.is_control, found.is_transactional) == (Codec.NONE, 1, True, True)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (4000, 5, 6)
    assert (found.base_timestamp, found.max_timestamp, found.size) == (1_700_000_000_000, 1_700_000_000_999, len(data))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(b"before" + data + b"x")[6:-1]])
@pytest.mark.parametrize("count", [1, MANY])
def test_any_kind_of_buffer(with_and_without, kind, count):
    data = b"".join(batch([record(row, b"%d" % row) for row in range(count)], base_offset=start) for start in (0, count))
    found = messages(decode(kind(data)), "t", 0)
    assert [m.value for m in found] == [b"%d" % row for row in range(count)] * 2
    assert [m.offset for m in found] == list(range(2 * count))


def test_trap_25_what_a_broker_may_change_is_outside_the_checksum():
    data = bytearray(batch([record(0)]))
    data[0:8] = (1 << 40).to_bytes(8, "big")
    data[12:16] = (99).to_bytes(4, "big")
    (found,) = read_batches(data)
    assert (found.base_offset, found.leader_epoch) == (1 << 40, 99)


@pytest.mark.parametrize("codec", Codec)
def test_trap_26_the_checksum_is_of_the_bytes_as_they_lie(codec):
    body = b"".join(record(row) for row in range(MANY))
    data = bytearray(batch(compress(codec, body), count=MANY, attributes=codec))
    assert offsets(data) == list(range(MANY))
    data[-1] ^= 0xFF
    with pytest.raises(CorruptRecordsError, match=r"offset 0 has checksum 0x"):
        list(read_batches(data))
    assert len(list(read_batches(data, check_crcs=False))) == 1


@pytest.mark.parametrize("codec", Codec)
def test_compressed_and_plain_batches_together(with_and_without, codec):
    parts = []
    for start in range(0, 20 * MANY, MANY):
        body = b"".join(record(row, b"value %d" % (start + row)) for row in range(MANY))
        used = codec if start % 3 else Codec.NONE
        parts.append(batch(compress(used, body), base_offset=start, count=MANY, attributes=used))
    found = messages(decode(b"".join(parts)), "t", 0)
    assert [m.value for m in found] == [b"value %d" % row for row in range(20 * MANY)]
    assert [m.offset for m in found] == list(range(20 * MANY))


@pytest.mark.parametrize("numbers", [[0, 7], [3], list(range(0, 3 * MANY, 3))])
def test_trap_31_offsets_are_as_stored_with_gaps(with_and_without, numbers):
    data = batch([record(n) for n in numbers], base_offset=1000, last_delta=900)
    assert offsets(data) == [1000 + n for n in numbers]
    (found,) = read_batches(data)
    assert found.next_offset == 1901, "trap 32: from the header, not from the last record"


def test_trap_33_empty_batches_have_no_rows_and_advance(with_and_without):
    empty = batch([], base_offset=10, last_delta=9)
    (found,) = read_batches(empty)
    assert (found.count, found.next_offset) == (0, 20)
    assert decode_columns([found]).count == 0
    full = [batch([record(n) for n in range(MANY)], base_offset=start) for start in (0, 500)]
    assert offsets(full[0] + empty + full[1]) == [*range(MANY), *range(500, 500 + MANY)]
    assert offsets(empty + full[0] + empty) == list(range(MANY))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("packed", [False, True])
def test_trap_33_empty_batches_keep_their_codec(codec, packed):
    data = batch(compress(codec, b"") if packed else b"", count=0, last_delta=9, attributes=codec)
    assert decode(data).count == 0


def test_no_batches_at_all(with_and_without):
    columns = decode_columns([])
    assert columns.count == 0
    assert messages(columns, "t", 0) == []
    assert records.values(columns) == []
    assert columns.index_of(5) == 0


@pytest.mark.parametrize("repeat", [1, MANY])
def test_trap_34_deltas_may_be_negative(with_and_without, repeat):
    deltas = [0, -1, 63, -64, 64, -1_700_000_000_000, 1 << 61, -(1 << 62)] * repeat
    data = batch([record(row, timestamp=delta) for row, delta in enumerate(deltas)], base_timestamp=1_700_000_000_000)
    assert times(data) == [1_700_000_000_000 + delta for delta in deltas]


@pytest.mark.parametrize("count", [3, MANY])
def test_trap_35_log_append_time_is_the_largest_timestamp_for_all(with_and_without, count):
    rows = [record(row, timestamp=row) for row in range(count)]
    by_broker = batch(rows, attributes=LOG_APPEND_TIME, max_timestamp=5555)
    by_producer = batch(rows, base_offset=count, base_timestamp=1000)
    assert times(by_broker) == [5555] * count
    columns = decode(by_broker + by_producer)
    assert list(columns.timestamps) == [5555] * count + [1000 + row for row in range(count)]
    assert columns.timestamp_types == [1] * count + [0] * count
    assert {(m.timestamp_type, m.timestamp) for m in messages(columns, "t", 0)[:count]} == {(1, 5555)}


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_trap_36_unknown_codecs_are_refused(codec):
    with pytest.raises(CorruptRecordsError, match=f"codec {codec}"):
        list(read_batches(batch([record(0)], attributes=codec)))


def test_trap_36_delete_horizon_and_unknown_bits(with_and_without):
    """The base timestamp is the horizon then, and times count from it as ever."""
    for attributes, horizon in ((0, False), (0x40, True), (0x7F80, False)):
        data = batch([record(0, timestamp=3), record(1, timestamp=-3)], attributes=attributes, base_timestamp=10_000)
        (found,) = read_batches(data)
        assert (found.has_delete_horizon, found.base_timestamp) == (horizon, 10_000)
        assert times(data) == [10_003, 9_997]


@pytest.mark.parametrize("base", [1 << 31, 1 << 32, 1 << 40, (1 << 63) - 2 - MANY])
def test_trap_38_large_offsets(with_and_without, base):
    data = batch([record(row) for row in range(MANY)], base_offset=base)
    assert offsets(data) == list(range(base, base + MANY))


def test_trap_39_record_attributes_are_ignored(with_and_without):
    assert offsets(batch([record(row, attributes=0xFF) for row in range(MANY)])) == list(range(MANY))


def test_trap_41_a_partial_batch_at_the_end_is_left_out():
    whole = batch([record(row) for row in range(3)])
    for size in range(len(whole)):
        assert [found.count for found in read_batches(whole + whole[:size])] == [3]


@pytest.mark.parametrize("count", [3, 3 * MANY])
def test_trap_137_varints_of_all_lengths(with_and_without, count):
    """Padded forms are legal, and each record has others."""
    rows = []
    for row in range(count):
        body = b"\0" + varint(row - 5, 1 + row % 10) + varint(row, 2 + row % 4)
        body += varint(2, 1 + row % 5) + b"ke" + varint(3, 1 + row % 4) + b"val" + varint(0)
        rows.append(varint(len(body), 1 + row % 5) + body)
    found = messages(decode(batch(rows, base_timestamp=1000)), "t", 0)
    assert [(m.offset, m.timestamp, m.key, m.value) for m in found] == [(r, 995 + r, b"ke", b"val") for r in range(count)]


@given(
    st.lists(
        st.tuples(
            st.integers(0, (1 << 31) - 1), st.integers(-(1 << 62), 1 << 62), st.none() | st.binary(), st.none() | st.binary()
        ),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 8),
)
def test_both_ways_give_the_same_columns(rows, times_over):
    data = batch([record(d, value, key, stamp) for d, stamp, key, value in rows], base_timestamp=0, last_delta=(1 << 31) - 1)
    few = messages(decode(data), "t", 0)
    many = messages(decode(data * 40), "t", 0)
    assert [(m.offset, m.timestamp, m.key, m.value) for m in few] == [
        (d, stamp if stamp != -1 else None, key, value) for d, stamp, key, value in rows
    ]
    assert many == few * 40


@pytest.mark.parametrize("sizes", [[100] * 9000, [100] * 70 + [101] * 500 + [5, 6, 7] * 200, [*range(3000)], [10_000] * 50])
def test_runs_of_one_size_are_found_and_left(with_and_without, sizes):
    values = [bytes([size % 256]) * size for size in sizes]
    data = batch([record(row, value) for row, value in enumerate(values)])
    assert records.values(decode(data)) == values
    assert records.values(decode(memoryview(data + data[:70]))) == values


def test_trap_133_uncompressed_batches_are_read_where_they_lie():
    bare.package("numpy")  # without it decoding needs bytes at once
    frame = bytearray(b"x" * 1000 + batch([record(row, b"y" * 1000) for row in range(MANY)]))
    columns = decode(memoryview(frame)[1000:])
    with pytest.raises(BufferError):
        frame.clear()
    records.values(columns)
    frame.clear()  # bytes were needed, so a copy was made: the frame is no longer held (trap 134)


def test_trap_43_the_limit_is_for_all_batches_together(with_and_without):
    body = b"".join(record(row, bytes(1000)) for row in range(10))
    data = batch(compress(Codec.GZIP, body), count=10, attributes=Codec.GZIP)
    assert decode(data * 3, limit=3 * len(body)).count == 30
    with pytest.raises(CorruptRecordsError, match="more than"):
        decode(data * 3, limit=3 * len(body) - 1)
    plain = batch(body, count=10)
    assert decode(plain * 3 + data, limit=len(body)).count == 40, "what is not compressed does not count"

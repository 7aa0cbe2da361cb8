"""Messages of formats 0 and 1: as old brokers stored them, and as they must be written for them."""

from __future__ import annotations

import pytest

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.records import RecordColumns, decode_columns, encode_message_set, messages, read_batches
from kafkawire.protocol.wire import Buffer
from tests.protocol.optional import with_and_without
from tests.protocol.records_by_hand import LOG_APPEND_TIME, batch, message, record

__all__ = ["with_and_without"]

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def decode(data: Buffer) -> RecordColumns:
    return decode_columns(read_batches(data))


def wrap(
    magic: int, offset: int, inner: list[bytes], codec: Codec = Codec.GZIP, attributes: int = 0, timestamp: int = 9
) -> bytes:
    packed = compress(codec, b"".join(inner), magic=magic)
    return message(magic, offset, packed, timestamp=timestamp, attributes=codec | attributes)


def test_trap_44_all_formats_mixed(with_and_without):
    data = (
        message(0, 0, b"zero", b"k")
        + message(1, 1, b"one", timestamp=11)
        + wrap(0, 3, [message(0, 2, b"two"), message(0, 3, b"three")])
        + batch([record(0, b"four")], base_offset=4, base_timestamp=14)
        + wrap(1, 6, [message(1, 0, b"five", timestamp=15), message(1, 1, None, timestamp=16)], Codec.LZ4)
        + batch([record(row, b"more") for row in range(60)], base_offset=7, base_timestamp=17)
    )
    found = messages(decode(data), "t", 0)
    assert [m.offset for m in found] == list(range(67))
    assert [m.value for m in found[:8]] == [b"zero", b"one", b"two", b"three", b"four", b"five", None, b"more"]
    assert [m.timestamp for m in found[:8]] == [None, 11, None, None, 14, 15, 16, 17]
    assert [m.timestamp_type for m in found[:8]] == [None, 0, None, None, 0, 0, 0, 0]
    assert [m.leader_epoch for m in found[:8]] == [None, None, None, None, 7, None, None, 7]
    assert found[0].key == b"k"
    assert {m.headers for m in found} == {()}
    assert [found.magic for found in read_batches(data)] == [0, 1, 0, 2, 1, 2]


def test_trap_45_checksum_of_a_message():
    data = bytearray(message(1, 0))
    assert decode(data).count == 1
    data[-1] ^= 1
    with pytest.raises(CorruptRecordsError, match="checksum"):
        list(read_batches(data))
    assert decode_columns(read_batches(data, check_crcs=False)).count == 1


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("inner", "expected"), [([0, 1, 2], [98, 99, 100]), ([0, 5, 7], [93, 98, 100]), ([4], [100])])
def test_trap_46_inner_offsets_of_format_1_are_relative(codec, inner, expected):
    data = wrap(1, 100, [message(1, offset) for offset in inner], codec)
    assert decode(data).offsets == expected
    (found,) = read_batches(data)
    assert (found.next_offset, found.count) == (101, -1)


def test_trap_46_an_outer_offset_of_zero_is_no_offset():
    assert decode(wrap(1, 0, [message(1, offset) for offset in (5, 6)])).offsets == [5, 6]


def test_trap_46_an_outer_offset_below_the_last_inner_one_is_refused():
    with pytest.raises(CorruptRecordsError, match="offset 7 inside"):
        decode(wrap(1, 6, [message(1, 7)]))


@pytest.mark.parametrize("codec", CODECS)
def test_trap_47_inner_offsets_of_format_0_are_absolute(codec):
    for outer in (100, 120):  # whatever the outer one is
        data = wrap(0, outer, [message(0, offset) for offset in (98, 100)], codec)
        assert decode(data).offsets == [98, 100]


def test_trap_48_the_outer_log_append_time_is_the_time_of_all():
    inner = [message(1, offset, timestamp=offset) for offset in range(3)]
    columns = decode(wrap(1, 2, inner, attributes=LOG_APPEND_TIME, timestamp=777))
    assert (columns.timestamps, columns.timestamp_types) == ([777] * 3, [1] * 3)
    columns = decode(wrap(1, 2, inner, timestamp=777))
    assert (columns.timestamps, columns.timestamp_types) == ([0, 1, 2], [0] * 3)


def test_trap_48_a_plain_message_has_its_own_type():
    columns = decode(message(1, 0, timestamp=5, attributes=LOG_APPEND_TIME) + message(1, 1, timestamp=6))
    assert (columns.timestamps, columns.timestamp_types) == ([5, 6], [1, 0])


def test_trap_49_format_0_has_no_timestamps():
    columns = decode(message(0, 0))
    assert (columns.timestamps, columns.timestamp_types) == ([-1], [-1])
    (found,) = messages(columns, "t", 0)
    assert (found.timestamp, found.timestamp_type) == (None, None)


@pytest.mark.parametrize("magic", [0, 1])
def test_trap_50_what_is_illegal_in_old_formats(magic):
    inner = [message(magic, 0)]
    for bad in (
        wrap(magic, 0, [wrap(magic, 0, inner)]),
        wrap(magic, 0, [message(1 - magic, 0)]),
        wrap(magic, 0, [batch([record(0)])]),
        message(magic, 0, None, attributes=Codec.GZIP),
        message(magic, 0, compress(Codec.ZSTD, inner[0]), attributes=Codec.ZSTD),
        message(magic, 0, inner[0], attributes=5),
        wrap(magic, 0, []),
        wrap(magic, 0, [inner[0], inner[0][:-1]]),
    ):
        with pytest.raises(CorruptRecordsError):
            decode(bad)


@pytest.mark.parametrize("magic", [0, 1])
def test_trap_52_a_partial_message_at_the_end_is_left_out(magic):
    whole = message(magic, 0) + message(magic, 1)
    for size in range(len(whole)):
        assert decode(whole[:size]).count == size // (len(whole) // 2)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(("key_size", "value_size"), [(-2, 5), (6, 5), (1 << 30, 5), (-1, 4), (-1, 6), (-1, -2), (0, -1)])
def test_sizes_that_do_not_fit(magic, key_size, value_size):
    data = bytearray(message(magic, 0, b"value"))
    at = 18 + 8 * magic
    data[at : at + 8] = key_size.to_bytes(4, "big", signed=True) + value_size.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptRecordsError):
        decode_columns(read_batches(data, check_crcs=False))


@pytest.mark.parametrize("size", [-(1 << 31), -12, -1, *range(26)])
def test_trap_42_sizes_below_the_smallest_message(size):
    for magic in (0, 1):
        data = bytearray(message(magic, 0, b"value" * 10))
        data[8:12] = size.to_bytes(4, "big", signed=True)
        with pytest.raises(CorruptRecordsError):
            decode_columns(read_batches(data, check_crcs=False))


@pytest.mark.parametrize("magic", [0, 1])
def test_plain_sets_are_written_as_the_format_says(magic):
    rows = [(b"key", b"value", 5), (None, b"", None), (b"", None, 7)]
    expected = [message(magic, at, value, key, -1 if stamp is None else stamp) for at, (key, value, stamp) in enumerate(rows)]
    assert encode_message_set(magic, rows) == b"".join(expected)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
def test_compressed_sets_are_one_message_with_the_last_offset(with_and_without, magic, codec):
    rows = [(b"%d" % at, b"value" * at, 1000 - at) for at in range(50)]
    data = encode_message_set(magic, iter(rows), codec=codec, level=None)
    (found,) = read_batches(data)
    assert (found.base_offset, found.codec, found.max_timestamp) == (49, codec, 1000 if magic else -1)
    assert [(m.offset, m.key, m.value, m.timestamp) for m in messages(decode(data), "t", 0)] == [
        (at, key, value, stamp if magic else None) for at, (key, value, stamp) in enumerate(rows)
    ]


def test_an_empty_set_is_empty():
    assert encode_message_set(1, [], codec=Codec.GZIP) == b""

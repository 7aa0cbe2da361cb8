"""Views of columns: messages, values, NumPy arrays, slices. Arrow has a file of its own."""

from __future__ import annotations

import gc

import pytest

from kafkawire.errors import CorruptRecordsError
from kafkawire.message import Message
from kafkawire.protocol.records import RecordColumns, decode_columns, messages, read_batches, values
from kafkawire.protocol.wire import Buffer
from tests import bare
from tests.protocol.optional import with_and_without
from tests.protocol.records_by_hand import batch, mixed, mixed_messages, record

__all__ = ["with_and_without"]


def decode(data: Buffer) -> RecordColumns:
    return decode_columns(read_batches(data))


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_messages(with_and_without, rows):
    found = messages(decode(mixed(rows)), "t", 5)
    assert found == mixed_messages(rows)
    assert {type(m) for m in found} == {Message}


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_values(with_and_without, rows):
    assert values(decode(mixed(rows))) == [m.value for m in mixed_messages(rows)]


@pytest.mark.parametrize("rows", [5, 200])
def test_columns_as_numpy_arrays(rows):
    """They are arrays already where there are records enough to be worth it."""
    np = bare.package("numpy")
    columns, whole = decode(mixed(rows)), mixed_messages(rows)
    assert isinstance(columns.offsets, list if rows == 5 else np.ndarray)
    for column in (columns.offsets, columns.timestamps, columns.value_starts, columns.value_ends, columns.key_ends):
        assert np.asarray(column).dtype == np.int64
    assert np.asarray(columns.offsets).tolist() == [m.offset for m in whole]
    sizes = np.asarray(columns.value_ends) - np.asarray(columns.value_starts)
    assert sizes[np.asarray(columns.value_ends) >= 0].tolist() == [len(m.value) for m in whole if m.value is not None]


@pytest.mark.parametrize("rows", [3, 200])
def test_slices_of_columns(with_and_without, rows):
    columns, whole = decode(mixed(rows)), mixed_messages(rows)
    for start, stop in [
        (0, 2 * rows),
        (1, 2),
        (rows - 1, rows + 1),
        (rows, rows + 2),
        (2 * rows - 1, 2 * rows),
        (2, 2),
        (3, 1),
    ]:
        part = columns.slice(start, stop)
        assert part.count == len(part) == max(stop - start, 0)
        assert messages(part, "t", 5) == whole[start:stop]
        assert values(part) == [m.value for m in whole[start:stop]]
        assert part.timestamp_types == [m.timestamp_type for m in whole[start:stop]]
        assert part.leader_epochs == [m.leader_epoch for m in whole[start:stop]]
    assert messages(columns.slice(1, 10**9).slice(1, 3), "t", 5) == whole[2:4]


def test_slices_share_one_copy_of_the_buffer():
    columns = decode(memoryview(batch([record(row, bytes(1000)) for row in range(100)])))
    left, right = columns.slice(0, 50), columns.slice(50, 100)
    values(left)
    assert left.as_bytes() is right.as_bytes() is columns.data


@pytest.mark.parametrize("rows", [3, 200])
def test_trap_40_index_of_an_offset(with_and_without, rows):
    columns = decode(mixed(rows))
    assert [columns.index_of(offset) for offset in (0, 100, 101, 102, 100 + 2 * rows, 10**9)] == [0, 0, 1, 1, rows, 2 * rows]


def test_headers_are_read_one_record_at_a_time(with_and_without):
    columns = decode(mixed(200))
    assert [columns.headers(row) for row in range(400)] == [m.headers for m in mixed_messages(200)]


def test_header_names_that_are_not_utf8_are_read_as_java_does(with_and_without):
    assert messages(decode(batch([record(0, headers=[(b"a\xff", b"v")])])), "t", 0)[0].headers == (("a\ufffd", b"v"),)


def test_damaged_headers_do_not_hide_the_values(with_and_without):
    columns = decode(batch([record(0, b"good", headers=[(None, b"v")])]))
    assert values(columns) == [b"good"]
    with pytest.raises(CorruptRecordsError):
        messages(columns, "t", 0)


@pytest.mark.parametrize("rows", [1, 60])
def test_trap_34_no_timestamp_is_none(with_and_without, rows):
    data = batch([record(row, timestamp=-(row % 2)) for row in range(rows)], base_timestamp=0, leader_epoch=-1)
    found = messages(decode(data), "t", 0)
    assert [(m.timestamp, m.timestamp_type) for m in found] == [(None, None) if row % 2 else (0, 0) for row in range(rows)]
    assert {m.leader_epoch for m in found} == {None}


def test_the_collector_is_left_as_it_was():
    columns = decode(mixed(5))
    assert gc.isenabled()
    messages(columns, "t", 0)
    assert gc.isenabled()
    gc.disable()
    try:
        messages(columns, "t", 0)
        assert not gc.isenabled()
    finally:
        gc.enable()

"""What is made of columns: messages, values, Arrow; and slices of columns."""

from __future__ import annotations

import datetime as dt
import gc

import pyarrow as pa
import pytest

from kafkawire.errors import CorruptRecordsError, EncodeError, MissingDependencyError
from kafkawire.message import Message
from kafkawire.protocol import accelerators
from kafkawire.protocol.records import (
    RecordColumns,
    arrow,
    arrow_schema,
    decode_columns,
    messages,
    read_batches,
    to_arrow,
    values,
)
from kafkawire.protocol.wire import Buffer
from tests.protocol.optional import hide, with_and_without
from tests.protocol.records_by_hand import LOG_APPEND_TIME, batch, message, record

__all__ = ["with_and_without"]

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def decode(data: Buffer) -> RecordColumns:
    return decode_columns(read_batches(data))


def mixed(rows: int) -> bytes:
    """Null and empty keys and values, headers, gaps, two epochs, both kinds of timestamps."""
    first = [
        record(
            2 * row,
            None if row % 5 == 0 else b"v" * (row % 17),
            None if row % 3 == 0 else b"k%d" % (row % 4),
            row,
            [] if row % 4 else [(b"h", b"%d" % row), (b"h", None), (b"\xc3\xbc", b"")],
        )
        for row in range(rows)
    ]
    second = [record(row, b"w" * 20) for row in range(rows)]
    return batch(first, base_offset=100, base_timestamp=1000, leader_epoch=3) + batch(
        second, base_offset=100 + 2 * rows, attributes=LOG_APPEND_TIME, max_timestamp=9999, leader_epoch=4
    )


def expected(rows: int) -> list[Message]:
    first = [
        Message(
            "t",
            5,
            100 + 2 * row,
            1000 + row,
            0,
            None if row % 3 == 0 else b"k%d" % (row % 4),
            None if row % 5 == 0 else b"v" * (row % 17),
            () if row % 4 else (("h", b"%d" % row), ("h", None), ("ü", b"")),
            3,
        )
        for row in range(rows)
    ]
    return first + [Message("t", 5, 100 + 2 * rows + row, 9999, 1, None, b"w" * 20, (), 4) for row in range(rows)]


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_messages(with_and_without, rows):
    found = messages(decode(mixed(rows)), "t", 5)
    assert found == expected(rows)
    assert {type(m) for m in found} == {Message}


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_values(with_and_without, rows):
    assert values(decode(mixed(rows))) == [m.value for m in expected(rows)]


@pytest.mark.parametrize("rows", [3, 200])
def test_slices_of_columns(with_and_without, rows):
    columns, whole = decode(mixed(rows)), expected(rows)
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
        assert to_arrow(part, "t", 5).column("offset").to_pylist() == [m.offset for m in whole[start:stop]]
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
    assert [columns.headers(row) for row in range(400)] == [m.headers for m in expected(200)]


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
    table = to_arrow(decode(data), "t", 0)
    assert table.column("timestamp").to_pylist() == [None if row % 2 else EPOCH for row in range(rows)]
    assert table.column("timestamp_type").to_pylist() == [None if row % 2 else 0 for row in range(rows)]


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


SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_type", pa.int32()),
    ]
)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def test_the_arrow_schema():
    assert arrow_schema() == SCHEMA
    assert arrow_schema(headers=True) == SCHEMA.append(pa.field("headers", HEADERS))


@pytest.mark.parametrize("rows", [1, 5, 200])
@pytest.mark.parametrize("headers", [False, True])
def test_trap_136_arrow(with_and_without, rows, headers):
    table = to_arrow(decode(mixed(rows)), "t", 5, headers=headers)
    table.validate(full=True)
    assert table.schema == arrow_schema(headers)
    for row, m in zip(table.to_pylist(), expected(rows), strict=True):
        assert (row["topic"], row["partition"], row["offset"], row["timestamp_type"]) == (
            m.topic,
            m.partition,
            m.offset,
            m.timestamp_type,
        )
        assert (row["key"], row["value"]) == (m.key, m.value)
        assert row["timestamp"] == EPOCH + dt.timedelta(milliseconds=m.timestamp or 0)
        if headers:
            assert row["headers"] == ([{"key": name, "value": value} for name, value in m.headers] or None)


def test_arrow_of_old_formats_and_of_nothing(with_and_without):
    table = to_arrow(decode(message(0, 0) + message(1, 1, timestamp=5)), "t", 0, headers=True)
    assert table.column("timestamp").to_pylist() == [None, EPOCH + dt.timedelta(milliseconds=5)]
    assert table.column("timestamp_type").to_pylist() == [None, 0]
    assert table.column("headers").null_count == 2
    assert to_arrow(decode_columns([]), "t", 0, headers=True).num_rows == 0
    assert to_arrow(decode(mixed(100)).slice(5, 5), "t", 0, headers=True).schema == arrow_schema(headers=True)


@pytest.mark.parametrize("rows", [2, 100])
def test_timestamps_that_microseconds_cannot_hold(with_and_without, rows):
    for base in ((1 << 62), -(1 << 62)):
        with pytest.raises(EncodeError, match="microseconds"):
            to_arrow(decode(batch([record(row) for row in range(rows)], base_timestamp=base)), "t", 0)


@pytest.mark.parametrize("rows", [2, 100])
def test_trap_38_136_more_bytes_than_int32_offsets_can_address(with_and_without, rows, monkeypatch):
    columns = decode(batch([record(row, b"0123456789", b"key") for row in range(rows)]))
    monkeypatch.setattr(arrow, "_MOST_BYTES", 10 * rows)
    assert to_arrow(columns, "t", 0).column("value").to_pylist() == [b"0123456789"] * rows, "the buffer may be larger than that"
    monkeypatch.setattr(arrow, "_MOST_BYTES", 10 * rows - 1)
    with pytest.raises(EncodeError, match="slice the columns"):
        to_arrow(columns, "t", 0)


def test_arrow_without_pyarrow(monkeypatch):
    columns = decode(mixed(5))
    hide(monkeypatch, "pyarrow")
    for call in (arrow_schema, lambda: to_arrow(columns, "t", 0)):
        with pytest.raises(MissingDependencyError, match=r"pip install kafkawire\[arrow\]"):
            call()
    monkeypatch.undo()
    accelerators.reset()

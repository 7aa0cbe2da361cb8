"""Columns as Arrow, by numpy and without it."""

from __future__ import annotations

import datetime as dt

import pytest

from kafkawire.errors import EncodeError, MissingDependencyError
from kafkawire.protocol import accelerators
from kafkawire.protocol.records import RecordColumns, arrow_schema, decode_columns, read_batches, to_arrow
from kafkawire.protocol.wire import Buffer
from tests import bare
from tests.protocol.optional import hide, with_and_without
from tests.protocol.records_by_hand import batch, message, mixed, mixed_messages, record

__all__ = ["with_and_without"]

pa = bare.package("pyarrow")

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
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


def decode(data: Buffer) -> RecordColumns:
    return decode_columns(read_batches(data))


def test_the_arrow_schema():
    assert arrow_schema() == SCHEMA
    assert arrow_schema(headers=True) == SCHEMA.append(pa.field("headers", HEADERS))


@pytest.mark.parametrize("rows", [1, 5, 200])
@pytest.mark.parametrize("headers", [False, True])
def test_trap_136_arrow(with_and_without, rows, headers):
    table = to_arrow(decode(mixed(rows)), "t", 5, headers=headers)
    table.validate(full=True)
    assert table.schema == arrow_schema(headers)
    for row, m in zip(table.to_pylist(), mixed_messages(rows), strict=True):
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
    from kafkawire.protocol.records import arrow

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


@pytest.mark.parametrize("rows", [1, 60])
def test_trap_34_no_timestamp_is_null(with_and_without, rows):
    data = batch([record(row, timestamp=-(row % 2)) for row in range(rows)], base_timestamp=0)
    table = to_arrow(decode(data), "t", 0)
    assert table.column("timestamp").to_pylist() == [None if row % 2 else EPOCH for row in range(rows)]
    assert table.column("timestamp_type").to_pylist() == [None if row % 2 else 0 for row in range(rows)]


@pytest.mark.parametrize("rows", [3, 200])
def test_slices_of_columns(with_and_without, rows):
    columns, whole = decode(mixed(rows)), mixed_messages(rows)
    for start, stop in [(0, 2 * rows), (1, 2), (rows - 1, rows + 1), (2 * rows - 1, 2 * rows), (2, 2)]:
        table = to_arrow(columns.slice(start, stop), "t", 5)
        assert table.column("offset").to_pylist() == [m.offset for m in whole[start:stop]]
        assert table.column("value").to_pylist() == [m.value for m in whole[start:stop]]

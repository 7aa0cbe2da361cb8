"""Columns of records: how many rows fit into a batch."""

from __future__ import annotations

from kafkawire.core.produce.columns import Columns
from kafkawire.protocol.records import encode_record


def test_rows_that_fit():
    columns = Columns([bytes(10), bytes(1000), b"", bytes(10)])
    for start in range(4):
        for room in (0, columns.size(start) - 1, columns.size(start), 10_000):
            end = columns.fitting(start, room)
            assert sum(map(columns.size, range(start, end))) <= room
            assert end == 4 or sum(map(columns.size, range(start, end + 1))) > room
    for row, value in enumerate(columns.values):
        assert len(encode_record(2**30, 2**60, None, value)) <= columns.size(row)

"""Offsets and ranges, without Spark."""

from __future__ import annotations

import pytest

from kafkawire import TopicPartition
from kafkawire.errors import ConfigurationError, OffsetOutOfRangeError
from kafkawire.spark.offsets import EARLIEST, Bound, check_kept
from kafkawire.spark.ranges import OffsetRange, divide

A, B, C = (TopicPartition("t", number) for number in range(3))


def spans(ranges):
    return [(one.tp.partition, one.start, one.end) for one in ranges]


def test_a_bound_for_all_partitions_and_for_each():
    assert Bound("startingOffsets", EARLIEST).each([B, A]) == {A: EARLIEST, B: EARLIEST}
    assert Bound("startingOffsets", {A: 3, B: -2}).each([A, B]) == {A: 3, B: -2}


@pytest.mark.parametrize(
    ("named", "message"), [({A: 1}, "Missing: t-1. Not read: none"), ({A: 1, B: 2, C: 3}, "Missing: none. Not read: t-2")]
)
def test_exactly_the_partitions_that_are_read_must_be_named(named, message):
    with pytest.raises(ConfigurationError, match=message):
        Bound("startingOffsets", named).each([A, B])


@pytest.mark.parametrize("offset", [9, 31])
def test_offsets_that_a_partition_does_not_have_are_an_error(offset):
    check_kept("startingOffsets", {A: 10, B: 30}, {A: 10, B: 10}, {A: 30, B: 30})
    with pytest.raises(OffsetOutOfRangeError, match=f"t partition 0 at {offset}, where the partition has 10 to 30"):
        check_kept("startingOffsets", {A: offset}, {A: 10}, {A: 30})


def test_empty_ranges_are_left_out():
    assert divide([OffsetRange(A, 5, 5), OffsetRange(B, 7, 5), OffsetRange(C, 0, 1)]) == [OffsetRange(C, 0, 1)]


# The cases of Spark's own KafkaOffsetRangeCalculatorSuite.
@pytest.mark.parametrize(
    ("wanted", "ranges", "expected"),
    [
        (3, [(A, 0, 10), (B, 0, 10), (C, 0, 10)], [(0, 0, 10), (1, 0, 10), (2, 0, 10)]),
        (4, [(A, 0, 5)], [(0, 0, 1), (0, 1, 2), (0, 2, 3), (0, 3, 5)]),
        (3, [(A, 0, 5)], [(0, 0, 1), (0, 1, 3), (0, 3, 5)]),
        (3, [(A, 0, 5), (B, 0, 4)], [(0, 0, 2), (0, 2, 5), (1, 0, 4)]),
        (1, [(A, 0, 5), (B, 0, 4)], [(0, 0, 5), (1, 0, 4)]),
        (6, [(A, 0, 2), (B, 0, 1), (C, 0, 17)], [(0, 0, 2), (1, 0, 1), (2, 0, 4), (2, 4, 8), (2, 8, 12), (2, 12, 17)]),
        (10, [(A, 0, 2)], [(0, 0, 1), (0, 1, 2)]),
    ],
)
def test_min_partitions(wanted, ranges, expected):
    assert spans(divide([OffsetRange(*one) for one in ranges], min_partitions=wanted)) == expected


def test_max_records_come_before_min_partitions():
    ranges = [OffsetRange(A, 0, 100), OffsetRange(B, 0, 10)]
    assert spans(divide(ranges, max_records=40)) == [(0, 0, 33), (0, 33, 66), (0, 66, 100), (1, 0, 10)]
    assert spans(divide(ranges, max_records=40, min_partitions=4)) == spans(divide(ranges, max_records=40))
    assert [part.size for part in divide(ranges, max_records=40, min_partitions=8)] == [16, 17, 16, 17, 17, 17, 10]


@pytest.mark.parametrize("wanted", [1, 7, 50])
def test_division_covers_every_offset_once(wanted):
    ranges = [OffsetRange(A, 3, 1000), OffsetRange(B, 10, 11), OffsetRange(C, 0, 77)]
    parts = divide(ranges, min_partitions=wanted, max_records=300)
    for whole in ranges:
        own = [part for part in parts if part.tp == whole.tp]
        assert [part.start for part in own[1:]] == [part.end for part in own[:-1]]
        assert (own[0].start, own[-1].end) == (whole.start, whole.end)

"""Ranges of offsets, one to a Spark task, and how the JVM connector divides large ones (its KafkaOffsetRangeCalculator)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kafkawire.message import TopicPartition

__all__ = ["OffsetRange", "divide"]


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets from `start` to before `end` of one partition."""

    tp: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of offsets; there are as many records or fewer."""
        return self.end - self.start

    def cut(self, parts: int) -> list[OffsetRange]:
        """Cut a range into `parts` ranges of about one size."""
        bounds = [self.start]
        for left in range(parts, 0, -1):
            bounds.append(bounds[-1] + (self.end - bounds[-1]) // left)
        return [OffsetRange(self.tp, start, end) for start, end in pairwise(bounds) if end > start]


def divide(
    ranges: Sequence[OffsetRange], *, min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """The ranges that are not empty, cut to at most `max_records` offsets, then so that they are about `min_partitions`."""
    found = [whole for whole in ranges if whole.size > 0]
    if max_records is not None:
        found = [part for whole in found for part in whole.cut(-(-whole.size // max_records))]
    if min_partitions is None or len(found) >= min_partitions:
        return found
    return _divide_large(found, min_partitions)


def _divide_large(ranges: Sequence[OffsetRange], wanted: int) -> list[OffsetRange]:
    """Cut ranges by their share of all offsets; ranges too small to be cut leave their share of `wanted` to the others."""
    total = sum(one.size for one in ranges)
    large = [one for one in ranges if _share(one.size, total, wanted) > 1]
    large_total = sum(one.size for one in large)
    left = max(wanted - (len(ranges) - len(large)), 1)
    parts = {one: _share(one.size, large_total, left) for one in large}
    return [part for one in ranges for part in one.cut(parts.get(one, 1))]


def _share(size: int, total: int, wanted: int) -> int:
    # Java's Math.round: halves go up, where Python's round() goes to the even neighbour.
    return max(math.floor(size / total * wanted + 0.5), 1)

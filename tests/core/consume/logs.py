"""Logs to fetch from without a broker: record batches of fixed contents, with gaps as compaction leaves them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from struct import pack_into

from kafkawire.protocol.crc32c import crc32c
from kafkawire.protocol.records import encode_record, seal_batch

__all__ = ["LogBatch", "make_batch", "make_log"]


@dataclass(frozen=True, slots=True)
class LogBatch:
    """One batch of a log: its bytes, the offsets of its records, and the offset behind it."""

    data: bytes
    offsets: tuple[int, ...]
    next_offset: int


def make_batch(base: int, deltas: tuple[int, ...], last_delta: int, label: bytes = b"v", *, control: bool = False) -> LogBatch:
    """Make a batch at offset `base` whose records have these deltas; each value is the label and the offset."""
    parts = [encode_record(delta, 0, None, b"%s %d" % (label, base + delta)) for delta in deltas]
    data = seal_batch(parts, count=len(deltas), base_timestamp=0, max_timestamp=0, control=control, transactional=control)
    pack_into(">q", data, 0, base)
    pack_into(">i", data, 23, last_delta)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    offsets = () if control else tuple(base + delta for delta in deltas)
    return LogBatch(bytes(data), offsets, base + last_delta + 1)


@cache
def make_log(generation: int, partition: int, batches: int = 12) -> tuple[LogBatch, ...]:
    """Make the log that a partition has in the nth topic of its name: always the same one."""
    chance = random.Random(f"{generation} {partition}")
    log: list[LogBatch] = []
    base = 0
    for _ in range(batches):
        count = chance.randint(0, 5)
        last_delta = max(count - 1, 0) + chance.choice((0, 0, 3))
        deltas = tuple(sorted(chance.sample(range(last_delta + 1), count)))
        control = count > 0 and chance.random() < 0.15
        log.append(make_batch(base, deltas, last_delta, b"%d %d" % (generation, partition), control=control))
        base = log[-1].next_offset
    return tuple(log)

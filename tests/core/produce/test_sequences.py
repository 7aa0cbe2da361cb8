"""Sequence numbers of a partition."""

from __future__ import annotations

from kafkawire.core.produce.sequences import SequenceNumbers


def test_trap_28_sequences_wrap():
    numbers = SequenceNumbers(2**31 - 3)
    assert [numbers.take(2) for _ in range(3)] == [2**31 - 3, 2**31 - 1, 1]


def test_a_new_producer_id_counts_from_0():
    numbers = SequenceNumbers()
    numbers.take(7)
    numbers.restart()
    assert numbers.take(1) == 0

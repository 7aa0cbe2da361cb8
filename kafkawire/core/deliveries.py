"""The outcome of the rows of one call that went into several batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkawire.core.batch import Batch
from kafkawire.errors import KafkaError
from kafkawire.message import RecordMetadata

__all__ = ["Runs", "failures_of", "written_by"]

Runs = Iterable[tuple[Batch, int, Sequence[int]]]
"""(batch, index of the first record in it, the rows of the call that the records from there on were)."""


def failures_of(runs: Runs) -> dict[int, KafkaError]:
    """The error of every row that was not written."""
    failed = {}
    for batch, at, rows in runs:
        if batch.error is None and batch.children is None:
            continue
        for index, row in enumerate(rows, at):
            try:
                batch.outcome(index)
            except KafkaError as error:
                failed[row] = error
    return failed


def written_by(runs: Runs) -> list[RecordMetadata]:
    """Where every row was written, in the order of the call."""
    found = {row: batch.outcome(index) for batch, at, rows in runs for index, row in enumerate(rows, at)}
    return [found[row] for row in range(len(found))]

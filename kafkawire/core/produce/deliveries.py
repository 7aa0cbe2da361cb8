"""The outcome of records for those who ask: of one record, and of the rows of one call that went into several batches."""

from __future__ import annotations

from collections.abc import Sequence

from kafkawire.core.produce.batch import Batch
from kafkawire.errors import DeliveryError, KafkaError
from kafkawire.message import RecordMetadata

__all__ = ["Runs", "raise_failures", "tell", "written_by"]

Runs = list[tuple[Batch, int, Sequence[int]]]
"""(batch, index of the first record in it, the rows of the call that the records from there on were)."""


def tell(batch: Batch, index: int) -> RecordMetadata:
    """Where a record that is done was written; raises why it was not."""
    return batch.queue.accumulator.tell(batch, index)


def failures_of(runs: Runs) -> dict[int, KafkaError]:
    """The error of every row that was not written."""
    failed = {}
    for batch, at, rows in runs:
        if batch.error is None and batch.children is None:
            continue
        for index, row in enumerate(rows, at):
            try:
                tell(batch, index)
            except KafkaError as error:
                failed[row] = error
    return failed


def raise_failures(runs: Runs) -> None:
    """Raise a DeliveryError if some rows were not written."""
    failed = failures_of(runs)
    if failed:
        raise DeliveryError(f"{len(failed)} records were not written: {next(iter(failed.values()))}", failed)


def written_by(runs: Runs) -> list[RecordMetadata]:
    """Where every row was written, in the order of the call."""
    found = {row: tell(batch, index) for batch, at, rows in runs for index, row in enumerate(rows, at)}
    return [found[row] for row in range(len(found))]

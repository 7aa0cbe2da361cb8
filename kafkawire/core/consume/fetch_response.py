"""Meaning of Fetch responses: records for the buffer, positions that are lost, errors to try again after or to raise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.metadata import Address
from kafkawire.core.consume.buffer import FetchedBatches
from kafkawire.core.consume.collector import FetchCollector
from kafkawire.core.consume.fetch_request import FetchTarget, located
from kafkawire.core.consume.fetcher import CompletedFetch
from kafkawire.core.consume.partition_state import PartitionState
from kafkawire.core.consume.reports import Reports
from kafkawire.core.consume.subscription import Subscription
from kafkawire.errors import (
    BrokerError,
    CorruptRecordsError,
    DecodeError,
    ErrorCode,
    KafkaError,
    OwnLimitError,
    broker_error,
)
from kafkawire.protocol.records import RecordBatch, read_batches

__all__ = ["FetchResponseHandler"]

PIECE_BYTES = 1 << 20
"""Encoded bytes in one piece of the buffer: enough that small batches cost little, not so many that memory suffers."""
WHOLE_BATCHES = 3
"""First Fetch version in which a broker answers at least one whole batch, whatever its size (trap 41)."""
CHECKS_EPOCHS = 9
"""First Fetch version in which a leader answers only who knows its epoch (KIP-320)."""
UNREADABLE_FOR_GOOD = 5
"""Answers in a row, over about a second and a half, that bring nothing but an error before the caller hears of it."""


class FetchResponseHandler:
    """Applies completed fetches to the partitions' states and to the buffer. Used in the flow of the consumer's caller only."""

    def __init__(
        self,
        client: ClusterClient,
        options: ConsumerOptions,
        subscription: Subscription,
        collector: FetchCollector,
        reports: Reports,
    ) -> None:
        self._client = client
        self._check_crcs = options["check_crcs"]
        self._max_decompressed_bytes = options["max_decompressed_bytes"]
        self._max_partition_fetch_bytes = options["max_partition_fetch_bytes"]
        self._subscription = subscription
        self._collector = collector
        self._reports = reports

    def apply(self, fetch: CompletedFetch, now: float) -> None:
        """Apply what one fetch has brought. Applied again after an interrupt, it does not add records again."""
        if fetch.error is not None:
            self._failed(fetch, fetch.error, now)
        pieces: list[FetchedBatches] = []
        for target, answer in fetch.answers:
            # While a leader moves both may be asked for the same offset, and an interrupted step takes an answer in again.
            if not self._is_next(target):
                continue
            target.state.answered()
            if answer.error_code:
                self._refused(target, answer.error_code, now)
            elif self._confirm(target, fetch.version, now):
                pieces += self._pieces(target, answer.records, fetch.version, now)
        self._collector.add(pieces)

    def _is_next(self, target: FetchTarget) -> bool:
        """True if an answer is about what comes next of its partition."""
        state = target.state
        return state.revision == target.revision and self._collector.fetch_offset(state) == target.offset

    # ---- records

    def _pieces(self, target: FetchTarget, records: Any, version: int, now: float) -> list[FetchedBatches]:
        """Check the batches of an answer; returns those that are new. Of damaged ones, those before are used first."""
        if not records:
            return []
        state, offset = target.state, target.offset
        batches: list[RecordBatch] = []
        error: KafkaError | None = None
        try:
            batches.extend(read_batches(records, check_crcs=self._check_crcs))
        except CorruptRecordsError as failure:
            error = located(failure, state.tp, batches[-1].next_offset if batches else offset)
        new = list(_new_batches(batches, offset))
        if error is None and not new:
            error = self._too_large(target, len(records), version) if not batches else _nothing_new(target)
        if error is not None and not new and not self._collector.holds(state):
            self._reports.add_error(state, error, now)
            self._back_off(state, now)
        return list(_into_pieces(state, offset, new, self._max_decompressed_bytes))

    def _too_large(self, target: FetchTarget, size: int, version: int) -> KafkaError:
        """Error for an answer that is a part of one batch and nothing else (trap 41)."""
        if version >= WHOLE_BATCHES:
            return CorruptRecordsError(f"{target}: {size} bytes that hold no whole batch")
        limit = f"max_partition_fetch_bytes={self._max_partition_fetch_bytes}"
        text = f"{target}: the next message is larger than {limit}: raise it"
        return OwnLimitError(ErrorCode.MESSAGE_TOO_LARGE, text)

    # ---- errors

    def _failed(self, fetch: CompletedFetch, error: KafkaError, now: float) -> None:
        """Back off where there was no answer, or none of use; the caller hears of it if that goes on."""
        temporary = error.retriable and not isinstance(error, DecodeError)
        for target in fetch.failed:
            state = target.state
            self._back_off(state, now)
            if temporary or state.revision != target.revision:
                continue
            state.could_not_be_read()
            if state.unreadable >= UNREADABLE_FOR_GOOD:
                self._reports.add_error(state, _unreadable(error, target, fetch.address), now)

    def _refused(self, target: FetchTarget, error_code: int, now: float) -> None:
        """Act on the error code of one partition."""
        state, code = target.state, ErrorCode.of(error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if self._collector.position(state) == target.offset:  # or the position has moved on since (trap 101)
                self._subscription.lose_position(state, target.offset, "the partition does not have that offset", now)
            return
        # The metadata is older, or so new that the leader has not heard of it; or of a topic that is gone.
        if code.refresh_metadata:
            self._client.metadata.suspect()
        if not code.retriable:
            self._reports.add_error(state, broker_error(error_code, f"Fetch of {target}"), now)
        self._back_off(state, now)

    def _confirm(self, target: FetchTarget, version: int, now: float) -> bool:
        """Take note that a leader serves the position; False if it cannot be: then the position is lost.

        Without topic ids nothing but a leader epoch that goes back tells of a topic that was created again.
        """
        state = target.state
        if version < CHECKS_EPOCHS or state.topic_id_known:
            state.fetched(state.leader_epoch)
            return True
        if target.leader_epoch >= state.leader_epoch:
            state.fetched(target.leader_epoch)
            return True
        if not self._collector.holds(state):
            epochs = f"from {state.leader_epoch} to {target.leader_epoch}"
            reason = f"the leader epoch went back {epochs}, as where a topic is created again"
            self._subscription.lose_position(state, target.offset, reason, now)
        return False

    def _back_off(self, state: PartitionState, now: float) -> None:
        state.back_off(now, self._client.retry_backoff)


def _unreadable(error: KafkaError, target: FetchTarget, address: Address) -> KafkaError:
    """Make the error for the caller after answers that repeat an error."""
    where = f"{target}: {target.state.unreadable} answers to Fetch in a row from {address}"
    if isinstance(error, BrokerError):
        return broker_error(error.code, where)
    advice = "seek past it to go on, or go on polling to try again"
    return CorruptRecordsError(f"{where} cannot be read, the last since: {error}; {advice}")


def _nothing_new(target: FetchTarget) -> KafkaError:
    return CorruptRecordsError(f"{target}: the answer holds nothing but records before that")


def _new_batches(batches: Iterable[RecordBatch], offset: int) -> Iterator[RecordBatch]:
    """Yield the batches that go past `offset` and past those before them: a batch that comes twice is read once."""
    for batch in batches:
        if batch.next_offset > offset:
            offset = batch.next_offset
            yield batch


def _into_pieces(state: PartitionState, offset: int, batches: list[RecordBatch], limit: int) -> Iterator[FetchedBatches]:
    """Group batches from `offset` on into pieces of about PIECE_BYTES."""
    start, size, group = offset, 0, []
    for batch in batches:
        group.append(batch)
        size += batch.size
        if size >= PIECE_BYTES:
            yield FetchedBatches.of(state, start, group, limit)
            start, size, group = batch.next_offset, 0, []
    if group:
        yield FetchedBatches.of(state, start, group, limit)

"""Fetches that stand by themselves: from an offset on, without an assignment or a position."""

from __future__ import annotations

from dataclasses import replace

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.link_slots import LinkRole
from kafkawire.core.cluster.list_offsets import cause_at, check_partitions
from kafkawire.core.consume.fetch_request import FetchSettings, build_request, located, partition_answers
from kafkawire.errors import (
    CorruptRecordsError,
    DecodeError,
    ErrorCode,
    KafkaError,
    NetworkError,
    OwnLimitError,
    broker_error,
)
from kafkawire.message import Message, TopicPartition
from kafkawire.protocol.messages.fetch import FetchResponse
from kafkawire.protocol.records import RecordBatch, Unread, messages, read_batches

__all__ = ["OneFetch"]


class OneFetch:
    """Sends single fetches, over links of their own, and tries again where that helps."""

    def __init__(self, client: ClusterClient, options: ConsumerOptions) -> None:
        self._client = client
        self._net = client.net
        self._options = options
        self._role = LinkRole("fetch once")

    def close(self) -> None:
        """Close the links. Idempotent."""
        self._client.release(self._role)

    async def fetch(self, tp: TopicPartition, offset: int, max_bytes: int, deadline: float) -> list[Message]:
        """The records from `offset` on that one Fetch of up to `max_bytes` brings; at least one, if there is one.

        Where they unpack to more than fetch_max_bytes, those that come first.
        """
        attempts = 0
        failure: KafkaError | None = None
        settings = replace(FetchSettings.of(self._options), max_bytes=max_bytes, partition_bytes=max_bytes)
        check_partitions([tp], await self._client.topic(tp.topic, deadline))
        while True:
            try:
                if failure is not None:
                    await self._client.refresh(deadline)
                return await self._fetch_once(tp, offset, settings, deadline)
            except KafkaError as error:
                if not error.retriable:
                    raise
                failure = cause_at(deadline, self._net.now(), error, failure)
            attempts += 1
            await self._net.wait(
                self._net.signal(), min(deadline, self._net.now() + self._client.retry_backoff.delay(attempts))
            )
            if self._net.now() >= deadline:
                raise failure

    async def _fetch_once(self, tp: TopicPartition, offset: int, settings: FetchSettings, deadline: float) -> list[Message]:
        snapshot = self._client.snapshot
        leader = snapshot.leader(*tp)
        if leader is None:
            raise NetworkError(f"{tp.topic} partition {tp.partition} has no leader at the moment")
        link = await self._client.link(leader, self._role, deadline)
        request, version, names = build_request(snapshot, link, [(tp, offset)], settings)
        try:
            response: FetchResponse = await self._client.call(leader, request, deadline, role=self._role, highest=version)
        except DecodeError as error:
            raise error.within(f"the answer of {link.address} about {tp.topic} partition {tp.partition} at {offset}") from None
        for answered, answer in partition_answers(response, names):
            if answered != tp:
                continue
            if answer.error_code:
                raise broker_error(answer.error_code, f"Fetch of {tp.topic} partition {tp.partition} at {offset}")
            if not answer.records:
                return []
            batches = list(read_batches(answer.records, check_crcs=self._options["check_crcs"]))
            if not batches:
                raise OwnLimitError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"{tp.topic} partition {tp.partition} at {offset}: the next batch exceeds max_bytes={settings.max_bytes}",
                )
            return self._records(tp, offset, [batch for batch in batches if not batch.is_control])
        raise NetworkError(f"the answer of {link.address} has nothing on {tp.topic} partition {tp.partition}")

    def _records(self, tp: TopicPartition, offset: int, batches: list[RecordBatch]) -> list[Message]:
        """The records from `offset` on, up to about fetch_max_bytes of them, or to what is damaged if that is not first."""
        found: list[Message] = []
        size = 0
        unread = Unread(tuple(batches), self._options["max_decompressed_bytes"]) if batches else None
        while unread is not None and size < self._options["fetch_max_bytes"]:
            try:
                made, unread = unread.decode()
            except CorruptRecordsError as error:
                if found:
                    break
                raise located(error, tp, offset) from None
            columns = made.columns.slice(made.columns.index_of(offset), made.columns.count)
            found += messages(columns, *tp)
            size += columns.size
        return found

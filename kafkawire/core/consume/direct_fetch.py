"""Single fetches from a given offset on, beside the subscription and its positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafkawire.config import ConsumerOptions
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.link_slots import LinkRole
from kafkawire.core.cluster.router import value
from kafkawire.core.cluster.targets import Leader
from kafkawire.core.consume.fetch_request import FetchSettings, build_request, located, partition_answers
from kafkawire.errors import (
    CorruptRecordsError,
    ErrorCode,
    NetworkError,
    OwnLimitError,
    broker_error,
)
from kafkawire.message import Message, TopicPartition
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkawire.protocol.records import RecordBatch, Unread, messages, read_batches

__all__ = ["DirectFetch"]


class DirectFetch:
    """Sends single fetches over links of their own; the router tries again where that helps."""

    def __init__(self, client: ClusterClient, options: ConsumerOptions) -> None:
        self._client = client
        self._options = options
        self._role = LinkRole("fetch once")

    def close(self) -> None:
        """Close the links. Idempotent."""
        self._client.links.release(self._role)

    async def fetch(self, tp: TopicPartition, offset: int, max_bytes: int, deadline: float) -> list[Message]:
        """Fetch up to `max_bytes` from `offset` on; returns the records, at least one if there is one.

        Of records that unpack to more than fetch_max_bytes, returns the first.
        """
        where = f"{tp.topic} partition {tp.partition} at {offset}"
        settings = replace(FetchSettings.of(self._options), max_bytes=max_bytes, partition_bytes=max_bytes)
        names: dict[bytes, str] = {}

        def build(link: BrokerLink, _keys: Sequence[str]) -> tuple[FetchRequest, int]:
            nonlocal names
            snapshot = self._client.metadata.snapshot
            if snapshot.leader(*tp) is None:
                raise NetworkError(f"{where}: the partition has no leader at the moment")
            request, version, names = build_request(snapshot, link, [(tp, offset)], settings)
            return request, version

        def read(response: FetchResponse, _keys: Sequence[str]) -> dict[str, list[Message]]:
            answers = dict(partition_answers(response, names))
            return {where: self._read(tp, offset, answers[tp], max_bytes)} if tp in answers else {}

        router, role = self._client.router, self._role
        return value((await router.call_many({where: Leader(tp)}, build, read, deadline, role=role))[where])

    def _read(
        self, tp: TopicPartition, offset: int, answer: FetchResponse.FetchableTopicResponse.PartitionData, max_bytes: int
    ) -> list[Message]:
        """Read the answer about the partition. Raises its error, or OwnLimitError if not one batch fits `max_bytes`."""
        where = f"{tp.topic} partition {tp.partition} at {offset}"
        if answer.error_code:
            raise broker_error(answer.error_code, f"Fetch of {where}")
        if not answer.records:
            return []
        batches = list(read_batches(answer.records, check_crcs=self._options["check_crcs"]))
        if not batches:
            raise OwnLimitError(ErrorCode.MESSAGE_TOO_LARGE, f"{where}: the next batch exceeds max_bytes={max_bytes}")
        return self._records(tp, offset, [batch for batch in batches if not batch.is_control])

    def _records(self, tp: TopicPartition, offset: int, batches: list[RecordBatch]) -> list[Message]:
        """Decode the records from `offset` on: about fetch_max_bytes of them, or those before a damaged batch."""
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

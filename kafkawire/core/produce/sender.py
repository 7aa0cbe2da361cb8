"""The sender: drains the accumulator into Produce requests, and decides on every batch by its answer. It never waits."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkawire.config import ProducerOptions
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.link_slots import LinkRole
from kafkawire.core.cluster.topic_ids import answered_topic, version_for_topics
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.core.produce.batch import Batch
from kafkawire.core.produce.producer_id import ProducerId
from kafkawire.core.produce.sequences import NO_SEQUENCE
from kafkawire.errors import (
    DecodeError,
    DeliveryTimedOut,
    ErrorCode,
    KafkaError,
    NetworkError,
    RequestTimedOut,
    UnsupportedVersionError,
    broker_error,
)
from kafkawire.net.base import NEVER, Pending
from kafkawire.protocol.compression import Codec, check_available, check_level
from kafkawire.protocol.frames import decode_response
from kafkawire.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["Sender"]

log = logging.getLogger("kafkawire.producer")

FIRST_V2 = 3
"""Produce version from which batches have format v2; v2 of the API carries magic 1, older ones magic 0."""
BACKLOG_PAUSE = 0.01
"""Seconds until the next look at a broker that reads too slowly, with acks=0, where no answer tells."""

_MAYBE_WRITTEN = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
"""Errors of batches that may have been written; without sequences, a retry may write them a second time."""
_TOO_LARGE = {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE}
_NEW_PRODUCER_ID = {
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}
"""Errors after which a broker takes nothing more under the present producer id."""


@dataclass(slots=True)
class SentRequest:
    """One Produce request that is not answered yet."""

    pending: Pending
    link: BrokerLink
    batches: list[Batch]
    version: int
    deadline: float
    topic_names: Mapping[bytes, str]
    """Names of the topics by id, if the request went by ids."""


@dataclass(slots=True)
class Node:
    """One broker as the sender sees it."""

    link: BrokerLink | None = None
    in_flight: deque[SentRequest] = field(default_factory=deque)
    """Requests in the order in which they were sent, which is that of their answers."""
    idle_until: float = 0.0
    """Time until which the broker asks for no more requests."""


class Sender:
    """Drains an accumulator into Produce requests. `step` and `stop` run in the sender's flow, one call at a time."""

    def __init__(self, client: ClusterClient, accumulator: Accumulator, options: ProducerOptions) -> None:
        self._client = client
        self._accumulator = accumulator
        self._producer_id = ProducerId(client, accumulator.signal, accumulator.topics.restart_sequences, options)
        self._acks = -1 if options["acks"] == "all" else int(options["acks"])
        self._codec = Codec.by_name(options["compression_type"])
        self._level = options["compression_level"]
        check_level(self._codec, self._level)
        check_available(self._codec)
        self._timeout = options["request_timeout_ms"] / 1000
        self._retries = options["retries"]
        self._max_in_flight = options["max_in_flight_requests_per_connection"]
        self._max_request = options["max_request_size"]
        self._role = LinkRole("produce")
        self._nodes: dict[int, Node] = {}
        self._snapshot = client.metadata.snapshot
        """Metadata of the present step: one snapshot from its beginning to its end."""

    def step(self) -> tuple[float, bool]:
        """Do everything that can be done now; returns the time of the next step, and True if there will be none to do."""
        accumulator = self._accumulator
        while True:
            now = self._client.net.now()
            self._follow_metadata()
            due = self._collect_answers(now)
            links, connect_due = self._links(now)
            drained = accumulator.drain(now, dict.fromkeys(links, self._max_request), self._snapshot.leader)
            for batch in drained.expired:
                self._fail(batch, self._timed_out(batch, now))
            for line in drained.loss_lines:
                log.warning("%s", line)
            if drained.leaderless:
                self._client.metadata.suspect()
            for node_id, batches in drained.taken.items():
                self._send(self._nodes[node_id], links[node_id], batches, now)
            if drained.taken or drained.expired:
                continue
            due = min(due, drained.due, connect_due, self._client.updater.keep_fresh(accumulator.signal))
            if drained.finished and self._acks == 0 and self._backlog():
                return now + BACKLOG_PAUSE, False  # closing the links would lose it
            return due, drained.finished

    def stop(self) -> list[Batch]:
        """Close the links to the brokers; returns the batches in flight, which may or may not be written."""
        lost = []
        for node in self._nodes.values():
            for request in node.in_flight:
                lost += request.batches
            node.in_flight.clear()
        self._client.links.release(self._role)
        return lost

    # ---- answers

    def _collect_answers(self, now: float) -> float:
        """Handle the answers that have come; returns the deadline of the next one."""
        due = NEVER
        for node in self._nodes.values():
            queue = node.in_flight
            if queue and not queue[0].pending.done and queue[0].deadline <= now:
                late = RequestTimedOut(f"{queue[0].link.address} did not answer Produce in time")
                queue[0].link.link.fail(late)
            while queue and queue[0].pending.done:
                self._handle_answer(node, queue.popleft(), now)
            if queue:
                due = min(due, queue[0].deadline)
        return due

    def _handle_answer(self, node: Node, request: SentRequest, now: float) -> None:
        try:
            frame = request.pending.result()
            response: ProduceResponse = decode_response(ProduceResponse, request.version, frame)
        except (NetworkError, RequestTimedOut, DecodeError) as error:
            request.link.link.fail(error)
            log.warning("produce to %s: %s; its %d batches are sent again", request.link.address, error, len(request.batches))
            self._client.metadata.suspect()
            for batch in request.batches:
                self._retry_or_fail(batch, error, now, retriable=True)
            return
        request.link.note_throttle(response, ProduceRequest, request.version, now)
        node.idle_until = request.link.muted_until
        self._handle_partitions(request, response, now)

    def _handle_partitions(self, request: SentRequest, response: ProduceResponse, now: float) -> None:
        answers: dict[tuple[str | None, int], Any] = {}
        for topic in response.responses:
            name = answered_topic(request.topic_names, topic.topic_id, topic.name)
            for partition in topic.partition_responses:
                answers[name, partition.index] = partition
        for batch in request.batches:
            answer = answers.get((batch.topic, batch.partition))
            if answer is None:
                error = DecodeError(
                    "the answer has nothing on a partition that was sent", api="Produce", version=request.version
                )
                self._retry_or_fail(batch, error, now, retriable=True)
            elif answer.error_code == 0:
                offset = answer.base_offset if answer.base_offset >= 0 else None
                self._accumulator.acknowledge(batch, offset, answer.log_append_time_ms)
            else:
                self._handle_error(batch, answer.error_code, answer.error_message, now)

    def _handle_error(self, batch: Batch, error_code: int, text: str | None, now: float) -> None:
        """Decide on a batch that a broker answered with an error."""
        code = ErrorCode.of(error_code)
        if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._accumulator.acknowledge(batch)  # an earlier attempt has written it (trap 63)
            return
        if code in _TOO_LARGE and batch.count > 1:
            self._accumulator.split(batch)
            return
        where = f"{batch.topic} partition {batch.partition}"
        error = broker_error(error_code, f"{where}: {text}" if text else where)
        if code.refresh_metadata:
            self._client.metadata.suspect()
        retriable = code.retriable or code in _MAYBE_WRITTEN
        if self._producer_id.enabled and code in _NEW_PRODUCER_ID:
            self._producer_id.renew(f"{where}: {code.name}")
            retriable = True
        elif self._producer_id.enabled and code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # Only the oldest batch tells of a loss; those behind a failed batch are merely early (trap 63).
            if batch.attempts and self._accumulator.topics.is_oldest(batch):
                self._producer_id.renew(f"{where}: {code.name}")
            retriable = True
        self._retry_or_fail(batch, error, now, retriable=retriable)

    def _retry_or_fail(self, batch: Batch, error: KafkaError, now: float, *, retriable: bool) -> None:
        batch.note_failure(error)
        if retriable and self._acks != 0 and batch.attempts <= self._retries and batch.expires > now:
            self._accumulator.retry(batch, now + self._client.retry_backoff.delay(batch.attempts))
            return
        self._fail(batch, self._timed_out(batch, now) if batch.expires <= now and retriable else error)

    def _timed_out(self, batch: Batch, now: float) -> DeliveryTimedOut:
        cause = batch.completion.cause
        why = self._obstacle(batch, now) or cause or "no broker took it"
        error = DeliveryTimedOut(
            f"{batch.count} records for {batch.topic} partition {batch.partition} were not acknowledged "
            f"within delivery_timeout_ms, after {batch.attempts} attempts: {why}"
        )
        error.__cause__ = cause
        return error

    def _obstacle(self, batch: Batch, now: float) -> str | None:
        """Return a text about the obstacle that keeps a batch from being sent at the moment, if there is one."""
        node_id = self._client.metadata.snapshot.leader(batch.topic, batch.partition)
        if node_id is None:
            return "the partition has no leader"
        if self._producer_id.trouble is not None:
            return f"no producer id can be had: {self._producer_id.trouble}"
        node = self._nodes.get(node_id)
        if node is not None and node.idle_until > now:
            return f"broker {node_id} throttles this producer"
        return self._client.links.trouble(node_id, self._role)

    def _fail(self, batch: Batch, error: KafkaError) -> None:
        """Give a batch up."""
        if batch.sequence != NO_SEQUENCE:
            # Its sequence numbers are a gap now, which the broker will not accept (trap 65).
            self._producer_id.renew(f"a batch was given up: {error}")
        self._accumulator.fail(batch, error)

    # ---- brokers

    def _links(self, now: float) -> tuple[dict[int, BrokerLink], float]:
        """Return the links of the brokers that can take a request, by node id, and the time to look again."""
        if not self._producer_id.advance(now, self._in_flight() == 0):
            return {}, self._producer_id.retry_at
        due = NEVER
        links = {}
        for node_id in self._accumulator.nodes(self._snapshot.leader):
            node = self._nodes.setdefault(node_id, Node())
            if len(node.in_flight) >= self._max_in_flight:
                continue
            if node.idle_until > now:
                due = min(due, node.idle_until)
                continue
            try:
                link = self._client.links.link_or_connect(node_id, self._role, self._accumulator.signal)
            except NetworkError:
                self._client.metadata.suspect()
                continue
            if not isinstance(link, BrokerLink):
                due = min(due, link)
                continue
            node.link = link
            if self._acks == 0 and link.link.backlog() > self._max_request:
                due = min(due, now + BACKLOG_PAUSE)
                continue
            links[node_id] = link
        return links, due

    def _backlog(self) -> int:
        links = [node.link.link for node in self._nodes.values() if node.link is not None]
        return sum(link.backlog() for link in links if link.error is None)

    def _in_flight(self) -> int:
        return sum(len(node.in_flight) for node in self._nodes.values())

    def _send(self, node: Node, link: BrokerLink, batches: list[Batch], now: float) -> None:
        try:
            version, names = self._version(link, batches)
        except UnsupportedVersionError as error:
            for batch in batches:
                self._fail(batch, error)
            return
        sealed = [batch for batch in batches if self._seal(batch, version)]
        if not sealed:
            return
        message = self._request(sealed, names)
        signal = None if self._acks == 0 else self._accumulator.signal
        pending = link.send(message, version, signal)
        if self._acks != 0:
            deadline = min(now + self._timeout, *(batch.expires for batch in sealed))
            node.in_flight.append(SentRequest(pending, link, sealed, version, deadline, names))
            return
        for batch in sealed:
            # Nobody will say more than that it was handed to the network (trap 11).
            if pending.error is None:
                self._accumulator.acknowledge(batch)
            else:
                self._fail(batch, NetworkError(str(pending.error)))

    def _version(self, link: BrokerLink, batches: list[Batch]) -> tuple[int, dict[bytes, str]]:
        """Return the version to send the batches in, and the names of their topics by id if it carries ids."""
        topic_ids = {batch.topic: self._topic_id(batch) for batch in batches}
        version, names = version_for_topics(link, ProduceRequest, topic_ids)
        codec = self._codec
        if version < codec.format.first_produce:
            since = f"{codec.name.lower()} (it came with Kafka {codec.format.release})"
            raise UnsupportedVersionError(f"{link.address} is too old for {since}: use lz4 or gzip")
        return version, names

    def _seal(self, batch: Batch, version: int) -> bool:
        if self._producer_id.enabled and version >= FIRST_V2:
            self._accumulator.topics.assign_sequence(batch, self._producer_id.producer)
        try:
            batch.seal(2 if version >= FIRST_V2 else version // 2, self._codec, self._level)
        except KafkaError as error:
            self._fail(batch, error)
            return False
        return True

    def _request(self, batches: list[Batch], names: Mapping[bytes, str]) -> ProduceRequest:
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        for batch in batches:
            name = batch.topic
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = ProduceRequest.TopicProduceData(name=name)
                if names:
                    topic.topic_id = self._topic_id(batch)
            topic.partition_data.append(
                ProduceRequest.TopicProduceData.PartitionProduceData(index=batch.partition, records=batch.wire)
            )
        timeout_ms = int(self._timeout * 1000)
        return ProduceRequest(acks=self._acks, timeout_ms=timeout_ms, topic_data=list(topics.values()))

    def _topic_id(self, batch: Batch) -> bytes:
        topic = self._snapshot.topics.get(batch.topic)
        return topic.topic_id if topic is not None else ZERO_UUID

    # ---- metadata

    def _follow_metadata(self) -> None:
        """Take up partitions that were added since the last step, and topics that were created again."""
        before, now = self._snapshot, self._client.metadata.snapshot
        if now is before:
            return
        self._snapshot = now
        for topic in now.topics.values():
            self._accumulator.topics.grow(topic.name, len(topic.partitions))
            known = before.topics.get(topic.name)
            if known is not None and known.topic_id != topic.topic_id:
                self._accumulator.topics.replace_logs(topic.name)

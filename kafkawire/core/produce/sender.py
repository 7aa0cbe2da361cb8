"""What the sender does at each step: reap answers, drain the accumulator, write requests. It never waits."""

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
from kafkawire.core.produce.batch import NO_SEQUENCE, Batch
from kafkawire.core.produce.partition_queue import PartitionQueue
from kafkawire.core.produce.sequences import Idempotence
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
"""Seconds until a broker that reads too slowly is looked at again with acks=0, where no reply tells."""

_MAYBE_WRITTEN = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
_TOO_LARGE = {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE}
_NEW_PRODUCER_ID = {
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}


@dataclass(slots=True)
class InFlight:
    """One Produce request that is not answered yet."""

    pending: Pending
    link: BrokerLink
    batches: list[Batch]
    version: int
    deadline: float
    topic_names: dict[bytes, str]


@dataclass(slots=True)
class Node:
    """One broker as the sender sees it."""

    link: BrokerLink | None = None
    in_flight: deque[InFlight] = field(default_factory=deque)
    idle_until: float = 0.0


class Sender:
    """The one that empties an accumulator. `step` runs in one flow at a time."""

    def __init__(
        self, client: ClusterClient, accumulator: Accumulator, options: ProducerOptions, idempotence: Idempotence
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._idempotence = idempotence
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
        """The metadata of the present step: one snapshot from its beginning to its end."""
        self.closing = False
        """Whether to finish once nothing is queued."""
        self.abandon = False
        """Whether to finish at once."""

    def step(self) -> tuple[float, bool]:
        """Everything that can be done now; returns when to come again and whether there is nothing left to do."""
        accumulator = self._accumulator
        while True:
            now = self._client.net.now()
            self._follow_metadata()
            due = self._reap(now)
            links, connect_due = self._links(now)
            drained = accumulator.drain(now, dict.fromkeys(links, self._max_request), self._snapshot.leader)
            for batch in drained.expired:
                self._give_up(batch, self._timed_out(batch, now))
            for line in drained.losses:
                log.warning("%s", line)
            if drained.leaderless:
                self._client.metadata.suspect()
            for node_id, batches in drained.taken.items():
                self._send(self._nodes[node_id], links[node_id], batches, now)
            if drained.taken or drained.expired:
                continue
            due = min(due, drained.due, connect_due, self._client.updater.keep_fresh(accumulator.signal))
            finished = self.closing and drained.empty
            if finished and self._acks == 0 and self._backlog():
                return now + BACKLOG_PAUSE, False  # closing the links would lose it
            return due, finished

    def stop(self) -> list[Batch]:
        """Close the links to the brokers; returns the batches whose fate is unknown now."""
        lost = []
        for node in self._nodes.values():
            for request in node.in_flight:
                lost += request.batches
            node.in_flight.clear()
        self._client.links.release(self._role)
        return lost

    # ---- answers

    def _reap(self, now: float) -> float:
        due = NEVER
        for node in self._nodes.values():
            queue = node.in_flight
            if queue and not queue[0].pending.done and queue[0].deadline <= now:
                late = RequestTimedOut(f"{queue[0].link.address} did not answer Produce in time")
                queue[0].link.link.fail(late)
            while queue and queue[0].pending.done:
                self._answered(node, queue.popleft(), now)
            if queue:
                due = min(due, queue[0].deadline)
        return due

    def _answered(self, node: Node, request: InFlight, now: float) -> None:
        try:
            frame = request.pending.result()
            response: ProduceResponse = decode_response(ProduceResponse, request.version, frame)
        except (NetworkError, RequestTimedOut, DecodeError) as error:
            request.link.link.fail(error)
            log.warning("produce to %s: %s; its %d batches are sent again", request.link.address, error, len(request.batches))
            self._client.metadata.suspect()
            for batch in request.batches:
                self._failed(batch, error, now, retriable=True)
            return
        request.link.note_throttle(response, ProduceRequest, request.version, now)
        node.idle_until = request.link.muted_until
        self._apply(request, response, now)

    def _apply(self, request: InFlight, response: ProduceResponse, now: float) -> None:
        answers: dict[tuple[str, int], Any] = {}
        for topic in response.responses:
            name = answered_topic(request.topic_names, topic.topic_id, topic.name)
            if name is not None:
                answers.update({(name, partition.index): partition for partition in topic.partition_responses})
        for batch in request.batches:
            answer = answers.get((batch.queue.topic, batch.queue.index))
            if answer is None:
                error = DecodeError(
                    "the answer has nothing on a partition that was sent", api="Produce", version=request.version
                )
                self._failed(batch, error, now, retriable=True)
            elif answer.error_code == 0:
                offset = answer.base_offset if answer.base_offset >= 0 else None
                self._accumulator.complete(batch, None, offset, answer.log_append_time_ms)
            else:
                self._refused(batch, answer.error_code, answer.error_message, now)

    def _refused(self, batch: Batch, error_code: int, text: str | None, now: float) -> None:
        """A broker answered a batch with an error."""
        queue, code = batch.queue, ErrorCode.of(error_code)
        if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._accumulator.complete(batch)  # it was written by an earlier attempt (trap 63)
            return
        if code in _TOO_LARGE and batch.count > 1:
            self._accumulator.split(batch)
            return
        where = f"{queue.topic} partition {queue.index}"
        error = broker_error(error_code, f"{where}: {text}" if text else where)
        if code.refresh_metadata:
            self._client.metadata.suspect()
        if self._idempotence.active and code in _NEW_PRODUCER_ID:
            self._idempotence.renew(f"{where}: {code.name}")
            self._failed(batch, error, now, retriable=True)
        elif self._idempotence.active and code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # Only the oldest one tells of a loss; those behind a failed batch are merely early (trap 63).
            if queue.is_oldest(batch) and batch.attempts:
                self._idempotence.renew(f"{where}: {code.name}")
            self._failed(batch, error, now, retriable=True)
        else:
            self._failed(batch, error, now, retriable=code.retriable or code in _MAYBE_WRITTEN)

    def _failed(self, batch: Batch, error: KafkaError, now: float, *, retriable: bool) -> None:
        batch.attempts += 1
        batch.cause = error
        if retriable and self._acks != 0 and batch.attempts <= self._retries and batch.expires > now:
            self._accumulator.retry(batch, now + self._client.retry_backoff.delay(batch.attempts))
            return
        self._give_up(batch, self._timed_out(batch, now) if batch.expires <= now and retriable else error)

    def _timed_out(self, batch: Batch, now: float) -> DeliveryTimedOut:
        queue = batch.queue
        why = self._obstacle(queue, now) or batch.cause or "no broker took it"
        error = DeliveryTimedOut(
            f"{batch.count} records for {queue.topic} partition {queue.index} were not acknowledged "
            f"within delivery_timeout_ms, after {batch.attempts} attempts: {why}"
        )
        error.__cause__ = batch.cause
        return error

    def _obstacle(self, queue: PartitionQueue, now: float) -> str | None:
        """The obstacle that keeps the records of a partition from being sent at the moment, if there is one."""
        node_id = self._client.metadata.snapshot.leader(queue.topic, queue.index)
        if node_id is None:
            return "the partition has no leader"
        if self._idempotence.trouble is not None:
            return f"no producer id can be had: {self._idempotence.trouble}"
        node = self._nodes.get(node_id)
        if node is not None and node.idle_until > now:
            return f"broker {node_id} throttles this producer"
        return self._client.links.trouble(node_id, self._role)

    def _give_up(self, batch: Batch, error: KafkaError) -> None:
        if batch.sequence != NO_SEQUENCE:
            # Its sequence numbers are a gap now, which the broker will not accept (trap 65).
            self._idempotence.renew(f"a batch was given up: {error}")
        self._accumulator.complete(batch, error)

    # ---- brokers

    def _links(self, now: float) -> tuple[dict[int, BrokerLink], float]:
        """Node id -> link of the brokers that can take a request; and when to look again."""
        ready, due = self._idempotence.ready(now, self._in_flight() == 0)
        if not ready:
            return {}, due
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
                self._give_up(batch, error)
            return
        sealed = [batch for batch in batches if self._seal(batch, version)]
        if not sealed:
            return
        message = self._request(sealed, names)
        signal = None if self._acks == 0 else self._accumulator.signal
        pending = link.send(message, version, signal)
        if self._acks != 0:
            deadline = min(now + self._timeout, *(batch.expires for batch in sealed))
            node.in_flight.append(InFlight(pending, link, sealed, version, deadline, names))
            return
        for batch in sealed:
            # Nobody will say more than that it was handed to the network (trap 11).
            if pending.error is None:
                self._accumulator.complete(batch)
            else:
                self._give_up(batch, NetworkError(str(pending.error)))

    def _version(self, link: BrokerLink, batches: list[Batch]) -> tuple[int, dict[bytes, str]]:
        """The version to send the batches in, and the names of their topics by id if it carries ids."""
        topic_ids = {batch.queue.topic: self._topic_id(batch) for batch in batches}
        version, names = version_for_topics(link, ProduceRequest, topic_ids)
        codec = self._codec
        if version < codec.format.first_produce:
            since = f"{codec.name.lower()} (it came with Kafka {codec.format.release})"
            raise UnsupportedVersionError(f"{link.address} is too old for {since}: use lz4 or gzip")
        return version, names

    def _seal(self, batch: Batch, version: int) -> bool:
        if self._idempotence.active and version >= FIRST_V2:
            batch.queue.assign_sequence(batch, self._idempotence.producer)
        try:
            batch.seal(2 if version >= FIRST_V2 else version // 2, self._codec, self._level)
        except KafkaError as error:
            self._give_up(batch, error)
            return False
        return True

    def _request(self, batches: list[Batch], names: Mapping[bytes, str]) -> ProduceRequest:
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        for batch in batches:
            name = batch.queue.topic
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = ProduceRequest.TopicProduceData(name=name)
                if names:
                    topic.topic_id = self._topic_id(batch)
            topic.partition_data.append(
                ProduceRequest.TopicProduceData.PartitionProduceData(index=batch.queue.index, records=batch.wire)
            )
        timeout_ms = int(self._timeout * 1000)
        return ProduceRequest(acks=self._acks, timeout_ms=timeout_ms, topic_data=list(topics.values()))

    def _topic_id(self, batch: Batch) -> bytes:
        topic = self._snapshot.topics.get(batch.queue.topic)
        return topic.topic_id if topic is not None else ZERO_UUID

    # ---- metadata

    def _follow_metadata(self) -> None:
        """Take up partitions that topics have got since, and topics that were created again."""
        before, now = self._snapshot, self._client.metadata.snapshot
        if now is before:
            return
        self._snapshot = now
        for topic in now.topics.values():
            self._accumulator.grow_topic(topic.name, len(topic.partitions))
            known = before.topics.get(topic.name)
            if known is not None and known.topic_id != topic.topic_id:
                self._accumulator.restart_topic(topic.name)

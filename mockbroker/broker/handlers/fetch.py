"""Fetch 0-18: records from an offset on, at once or as soon as `min_bytes` are there or `max_wait_ms` has passed.

Size limits are Kafka's: an answer is cut off in the middle of a batch, but from version 3 the first comes whole (KIP-74).
Versions 0-3 get the record format that they can read. Errors of partitions that are here answer at once. From version 7 there
are sessions (KIP-227), from 11 on followers answer too and leaders send clients to one in their rack (KIP-392), from 12 on a
log that has diverged from the client's is found out (KIP-595), from 16 on errors name the new leader (KIP-951).

Left out: aborted transactions, fetches of replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker.broker.answers import Answer, Wait
from mockbroker.broker.context import RequestContext
from mockbroker.broker.sessions import FINAL_EPOCH, FIRST_EPOCH, FetchSession, PartitionKey, next_epoch
from mockbroker.records.formats import down_convert
from mockbroker.state.log import NO_EPOCH_END, EpochEnd
from mockbroker.state.topics import Partition, Topic

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = ["handle"]


_Wanted = FetchRequest.Topic.Partition
_TopicAnswer = FetchResponse.FetchableTopicResponse
_PartitionAnswer = _TopicAnswer.PartitionData
_READ_COMMITTED = 1
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_NEWER_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_NAMES_LEADERS_SINCE = 16
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@dataclass(slots=True)
class _Fetch:
    """A request that is being served, and the session that it belongs to."""

    request: FetchRequest
    asked: Sequence[tuple[PartitionKey, _Wanted]]
    """By a request without a session."""
    session: FetchSession | None
    """Of an incremental request."""
    deadline: float
    max_bytes: int
    min_bytes: int


class _Target(NamedTuple):
    """One partition of the request, and what it leads to: records, an error, another replica, or a diverging epoch."""

    key: PartitionKey
    wanted: _Wanted
    topic: Topic | None
    found: Partition | ErrorCode
    diverging: EpochEnd | None = None
    preferred_replica: int = -1

    @property
    def unknown(self) -> bool:
        """Whether the broker need not look into any log to answer."""
        return isinstance(self.found, ErrorCode) and self.found in _UNKNOWN


def handle(context: RequestContext, request: FetchRequest, now: float) -> Answer:
    sessions = context.sessions
    asked = list(_asked(request))
    session: FetchSession | None = None
    if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
        sessions.close(request.session_id)
    else:
        found = sessions.go_on(request.session_id, request.session_epoch, now, by_topic_id=context.version >= 13)
        if isinstance(found, ErrorCode):
            return FetchResponse(error_code=found)
        found.update(asked, _forgotten(request))
        if len(found):
            session = found
        else:
            sessions.close(found.id)
            asked = []
    max_bytes = min(request.max_bytes, int(context.cluster.config.get("fetch.max.bytes", request.max_bytes)))
    deadline = now + max(request.max_wait_ms, 0) / 1000
    return _answer(context, _Fetch(request, asked, session, deadline, max_bytes, min(request.min_bytes, max_bytes)), now)


def _asked(request: FetchRequest) -> Iterator[tuple[PartitionKey, _Wanted]]:
    for topic in request.topics:
        for wanted in topic.partitions:
            yield PartitionKey(topic.topic, topic.topic_id, wanted.partition), wanted


def _forgotten(request: FetchRequest) -> Iterator[PartitionKey]:
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            yield PartitionKey(topic.topic, topic.topic_id, index)


def _answer(context: RequestContext, fetch: _Fetch, now: float) -> Answer:
    session = fetch.session
    # A fault may be about a partition that rests.
    wanted = fetch.asked if session is None else session.wanted(resting=bool(context.all_injected))
    targets = [_find(context, fetch.request, key, one) for key, one in wanted]
    targets.sort(key=lambda target: target.unknown)  # as Kafka, which puts them behind the others
    known = [target for target in targets if not target.unknown]
    logs = [target.found.log for target in known if isinstance(target.found, Partition)]
    at_once = len(logs) < len(known) or any(target.diverging or target.preferred_replica != -1 for target in known)
    changes = [log.changed for log in logs]
    if session is not None and session.rests:
        changes.append(session.changed)
    if now >= fetch.deadline or not changes or at_once or _available(known) >= fetch.min_bytes:
        return _response(context, fetch, targets, now)
    return Wait(fetch.deadline, changes, partial(_answer, context, fetch))


def _find(context: RequestContext, request: FetchRequest, key: PartitionKey, wanted: _Wanted) -> _Target:
    topic = context.cluster.find_topic(key.topic, key.topic_id)
    if isinstance(topic, ErrorCode):
        return _Target(key, wanted, None, topic)
    found = context.led_partition(topic, key.partition, wanted.current_leader_epoch, or_followed=context.version >= 11)
    if isinstance(found, ErrorCode):
        return _Target(key, wanted, topic, found)
    preferred = _preferred_replica(context, request, found)
    if preferred != -1:
        return _Target(key, wanted, topic, found, preferred_replica=preferred)
    if wanted.last_fetched_epoch >= 0:
        end = found.log.end_of_epoch(wanted.last_fetched_epoch)
        if end == NO_EPOCH_END or wanted.fetch_offset < found.log.start:
            return _Target(key, wanted, topic, ErrorCode.OFFSET_OUT_OF_RANGE)
        if end.epoch < wanted.last_fetched_epoch or end.offset < wanted.fetch_offset:
            return _Target(key, wanted, topic, found, diverging=end)
    if not found.log.start <= wanted.fetch_offset <= found.log.end:
        return _Target(key, wanted, topic, ErrorCode.OFFSET_OUT_OF_RANGE)
    return _Target(key, wanted, topic, found)


def _preferred_replica(context: RequestContext, request: FetchRequest, partition: Partition) -> int:
    """The follower in the client's rack that a leader sends it to, if it is told to (KIP-392); else -1."""
    if not request.rack_id or partition.leader != context.broker.id or context.broker.rack == request.rack_id:
        return -1
    if context.cluster.config.get("replica.selector.class") != _RACK_AWARE:
        return -1
    replicas = context.cluster.in_sync_replicas(partition)
    return max((each for each in replicas if context.cluster.brokers[each].rack == request.rack_id), default=-1)


def _available(targets: list[_Target]) -> int:
    return sum(
        min(target.found.log.size_from(target.wanted.fetch_offset), target.wanted.partition_max_bytes)
        for target in targets
        if isinstance(target.found, Partition)
    )


def _response(context: RequestContext, fetch: _Fetch, targets: list[_Target], now: float) -> FetchResponse:
    session = fetch.session
    if session is not None and session.epoch != next_epoch(fetch.request.session_epoch):  # gone on elsewhere meanwhile
        return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.id)
    answers = list(_read_all(context, fetch, targets))
    if session is not None:
        answers = [(target, answer) for target, answer in answers if _tell(context, fetch, session, target, answer)]
    elif fetch.request.session_epoch == FIRST_EPOCH and context.version >= 7:
        session = context.sessions.open(len(fetch.asked), now, by_topic_id=context.version >= 13)
        if session is not None:
            session.update(fetch.asked, ())
            for target, answer in answers:
                _tell(context, fetch, session, target, answer)
    response = FetchResponse(session_id=0 if session is None else session.id)
    for target, answer in answers:
        key = target.key
        last = response.responses[-1] if response.responses else None
        if last is None or (last.topic, last.topic_id) != (key.topic, key.topic_id):
            last = _TopicAnswer(topic=key.topic, topic_id=key.topic_id)
            response.responses.append(last)
        last.partitions.append(answer)
    leaders = {answer.current_leader.leader_id for _, answer in answers if answer.current_leader is not None}
    if leaders:
        response.node_endpoints = [
            FetchResponse.NodeEndpoint(node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack)
            for broker in context.cluster.online_brokers()
            if broker.id in leaders
        ]
    return response


def _tell(context: RequestContext, fetch: _Fetch, session: FetchSession, target: _Target, answer: _PartitionAnswer) -> bool:
    """Whether an answer tells a session something new. Where there will be nothing new by itself, the partition rests."""
    new = session.learn(target.key, answer)
    # Which replica a client should read from may change without a change of the log.
    if isinstance(target.found, Partition) and not context.all_injected and not fetch.request.rack_id:
        log = target.found.log
        if target.diverging is None and target.wanted.fetch_offset == log.end:
            session.rest(target.key, log.changed)
    return new


def _read_all(context: RequestContext, fetch: _Fetch, targets: list[_Target]) -> Iterator[tuple[_Target, _PartitionAnswer]]:
    left = fetch.max_bytes
    for target in targets:
        if isinstance(target.found, ErrorCode):
            yield target, _refusal(context, target, target.found)
            continue
        try:
            answer = _found(context, fetch, target, target.found, left)
        except BrokerError as refusal:
            answer = _refusal(context, target, refusal.error)
        left -= len(answer.records or b"")
        yield target, answer


def _refusal(context: RequestContext, target: _Target, error: ErrorCode) -> _PartitionAnswer:
    # Kafka sends null for what it finds out while it reads, and an empty list for what it knows before.
    aborted: list[_PartitionAnswer.AbortedTransaction] | None = [] if target.unknown else None
    answer = _PartitionAnswer(
        partition_index=target.key.partition, error_code=error, high_watermark=-1, aborted_transactions=aborted, records=b""
    )
    if error in _NEWER_LEADER and target.topic is not None and context.version >= _NAMES_LEADERS_SINCE:
        partition = target.topic.partitions[target.key.partition]
        answer.current_leader = _PartitionAnswer.LeaderIdAndEpoch(
            leader_id=partition.leader, leader_epoch=partition.leader_epoch
        )
    return answer


def _found(context: RequestContext, fetch: _Fetch, target: _Target, partition: Partition, left: int) -> _PartitionAnswer:
    """Records, with all that goes beside them."""
    answer = _PartitionAnswer(
        partition_index=target.key.partition,
        high_watermark=partition.log.end,
        last_stable_offset=partition.log.end,
        log_start_offset=partition.log.start,
        preferred_read_replica=target.preferred_replica,
        aborted_transactions=[] if fetch.request.isolation_level == _READ_COMMITTED else None,
        records=b"",
    )
    if target.diverging is not None:
        answer.diverging_epoch = _PartitionAnswer.EpochEndOffset(
            epoch=target.diverging.epoch, end_offset=target.diverging.offset
        )
    elif target.preferred_replica == -1:
        limit = max(min(target.wanted.partition_max_bytes, left), 0)
        answer.records = _read(context, partition, target.wanted.fetch_offset, limit, first=left == fetch.max_bytes)
    return answer


def _read(context: RequestContext, partition: Partition, offset: int, limit: int, *, first: bool) -> Buffer:
    log = partition.log
    if context.version >= 3:
        whole = log.first_size(offset)
        if whole > limit:
            limit = whole if first else 0
    data = log.read(offset, limit)
    readable_magic = 0 if context.version < 2 else 1 if context.version < 4 else 2
    if context.cluster.profile.magic <= readable_magic:
        return data
    return down_convert(data, readable_magic, offset)

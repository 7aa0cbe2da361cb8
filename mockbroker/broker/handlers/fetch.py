"""Fetch 0-18: records from an offset on. `broker/delayed_fetch.py` decides whether a fetch has to wait for them.

Size limits are Kafka's: an answer is cut off in the middle of a batch, but from version 3 the first comes whole (KIP-74).
Versions 0-3 get the record format that they can read. From version 7 there are sessions (KIP-227), from 11 on followers answer
too and leaders send clients to one in their rack (KIP-392), from 12 on a log that has diverged from the client's is found out
(KIP-595), from 16 on errors name the new leader (KIP-951).

Left out: aborted transactions, fetches of replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kafkawire.errors import BrokerError, ErrorCode
from kafkawire.protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.broker.delayed_fetch import DelayedFetch, FetchTarget
from mockbroker.broker.isolation import READ_COMMITTED, readable_end
from mockbroker.broker.sessions import FINAL_EPOCH, FIRST_EPOCH, FetchSession, PartitionKey, next_epoch
from mockbroker.records.formats import down_convert
from mockbroker.state.log import NO_EPOCH_END, PartitionLog
from mockbroker.state.topics import Partition
from mockbroker.state.waiting import Watchers

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = ["handle"]


_Wanted = FetchRequest.Topic.Partition
_TopicAnswer = FetchResponse.FetchableTopicResponse
_PartitionAnswer = _TopicAnswer.PartitionData
_NEWER_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_SESSIONS, _FOLLOWERS_ANSWER, _TOPIC_IDS, _NAMES_LEADERS = 7, 11, 13, 16
"""Versions of the API that brought them."""
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@dataclass(frozen=True, slots=True)
class _Fetch:
    """Request that is being served, and its session."""

    context: RequestContext
    request: FetchRequest
    asked: Sequence[tuple[PartitionKey, _Wanted]]
    """Partitions that the request names."""
    session: FetchSession | None
    """Session of an incremental request."""
    max_bytes: int


def handle(context: RequestContext, request: FetchRequest, now: float) -> Answer:
    asked = list(_asked(request))
    session: FetchSession | None = None
    if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
        context.sessions.close(request.session_id)
    else:
        found = _resume_session(context, request, asked, now)
        if isinstance(found, ErrorCode):
            return FetchResponse(error_code=found)
        if len(found):
            session = found
        else:
            context.sessions.close(found.id)
            asked = []
    max_bytes = min(request.max_bytes, int(context.cluster.config.get("fetch.max.bytes", request.max_bytes)))
    fetch = _Fetch(context, request, asked, session, max_bytes)
    return DelayedFetch(
        deadline=now + max(request.max_wait_ms, 0) / 1000,
        min_bytes=min(request.min_bytes, max_bytes),
        look=partial(_targets, fetch),
        more_changes=partial(_session_changes, session),
        respond=partial(_response, fetch),
    ).try_complete(now)


def _resume_session(
    context: RequestContext, request: FetchRequest, asked: Iterable[tuple[PartitionKey, _Wanted]], now: float
) -> FetchSession | ErrorCode:
    """Find the session of an incremental request and apply the request's changes to it."""
    by_topic_id = context.version >= _TOPIC_IDS
    found = context.sessions.go_on(request.session_id, request.session_epoch, now, by_topic_id=by_topic_id)
    if isinstance(found, FetchSession):
        found.update(asked, _forgotten(request))
    return found


def _asked(request: FetchRequest) -> Iterator[tuple[PartitionKey, _Wanted]]:
    for topic in request.topics:
        for wanted in topic.partitions:
            yield PartitionKey(topic.topic, topic.topic_id, wanted.partition), wanted


def _forgotten(request: FetchRequest) -> Iterator[PartitionKey]:
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            yield PartitionKey(topic.topic, topic.topic_id, index)


def _session_changes(session: FetchSession | None) -> Sequence[Watchers]:
    """Watchers of the partitions of a session that rest."""
    return [session.changed] if session is not None and session.rests else []


def _targets(fetch: _Fetch) -> list[FetchTarget]:
    """Partitions to answer, in Kafka's order: unknown ones last."""
    session = fetch.session
    # A fault may be about a partition that rests.
    wanted = fetch.asked if session is None else session.wanted(resting=bool(fetch.context.all_injected))
    targets = [_find(fetch.context, fetch.request, key, one) for key, one in wanted]
    targets.sort(key=lambda target: target.unknown)
    return targets


def _find(context: RequestContext, request: FetchRequest, key: PartitionKey, wanted: _Wanted) -> FetchTarget:
    topic = context.cluster.find_topic(key.topic, key.topic_id)
    if isinstance(topic, ErrorCode):
        return FetchTarget(key, wanted, None, topic)
    or_followed = context.version >= _FOLLOWERS_ANSWER
    found = context.led_partition(topic, key.partition, wanted.current_leader_epoch, or_followed=or_followed)
    if isinstance(found, ErrorCode):
        return FetchTarget(key, wanted, topic, found)
    log = found.log
    end = readable_end(log, _replica_id(request), request.isolation_level)
    preferred = _preferred_replica(context, request, found)
    if preferred != -1:
        return FetchTarget(key, wanted, topic, found, end, preferred_replica=preferred)
    if wanted.last_fetched_epoch >= 0:
        epoch_end = log.end_of_epoch(wanted.last_fetched_epoch)
        if epoch_end == NO_EPOCH_END or wanted.fetch_offset < log.log_start_offset:
            return FetchTarget(key, wanted, topic, ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch_end.epoch < wanted.last_fetched_epoch or epoch_end.offset < wanted.fetch_offset:
            return FetchTarget(key, wanted, topic, found, end, diverging=epoch_end)
    if not log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
        return FetchTarget(key, wanted, topic, ErrorCode.OFFSET_OUT_OF_RANGE)
    return FetchTarget(key, wanted, topic, found, end)


def _replica_id(request: FetchRequest) -> int:
    return request.replica_id if request.replica_state is None else request.replica_state.replica_id


def _preferred_replica(context: RequestContext, request: FetchRequest, partition: Partition) -> int:
    """Follower in the client's rack that the leader sends it to, if brokers are configured so (KIP-392); else -1."""
    if not request.rack_id or partition.leader != context.broker.id or context.broker.rack == request.rack_id:
        return -1
    if context.cluster.config.get("replica.selector.class") != _RACK_AWARE:
        return -1
    replicas = context.cluster.replication.in_sync_replicas(partition)
    return max((each for each in replicas if context.cluster.brokers[each].rack == request.rack_id), default=-1)


def _response(fetch: _Fetch, targets: Sequence[FetchTarget], now: float) -> FetchResponse:
    context, session = fetch.context, fetch.session
    if session is not None and session.epoch != next_epoch(fetch.request.session_epoch):  # used by a newer request meanwhile
        return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.id)
    answers = list(_read_all(fetch, targets))
    if session is not None:
        answers = [(target, answer) for target, answer in answers if _tell(fetch, session, target, answer)]
    elif fetch.request.session_epoch == FIRST_EPOCH and context.version >= _SESSIONS:
        by_topic_id = context.version >= _TOPIC_IDS
        session = context.sessions.open(len(fetch.asked), now, by_topic_id=by_topic_id)
        if session is not None:
            session.update(fetch.asked, ())
            for target, answer in answers:
                _tell(fetch, session, target, answer)
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
            for broker in context.cluster.brokers.online()
            if broker.id in leaders
        ]
    return response


def _tell(fetch: _Fetch, session: FetchSession, target: FetchTarget, answer: _PartitionAnswer) -> bool:
    """Remember an answer in its session; True if it is news. A partition that can bring none before its log changes rests."""
    new = session.learn(target.key, answer)
    at_end = target.diverging is None and target.wanted.fetch_offset >= target.end
    # The replica to read from may change without a change of the log.
    may_rest = at_end and not fetch.context.all_injected and not fetch.request.rack_id
    if may_rest and isinstance(target.found, Partition):
        session.rest(target.key, target.found.log.changed)
    return new


def _read_all(fetch: _Fetch, targets: Sequence[FetchTarget]) -> Iterator[tuple[FetchTarget, _PartitionAnswer]]:
    left = fetch.max_bytes
    for target in targets:
        if isinstance(target.found, ErrorCode):
            yield target, _refusal(fetch.context, target, target.found)
            continue
        try:
            answer = _found(fetch, target, target.found, left)
        except BrokerError as refusal:
            answer = _refusal(fetch.context, target, refusal.error)
        left -= len(answer.records or b"")
        yield target, answer


def _refusal(context: RequestContext, target: FetchTarget, error: ErrorCode) -> _PartitionAnswer:
    # Kafka sends null for errors that it finds while it reads, and an empty list for those that it finds before.
    aborted: list[_PartitionAnswer.AbortedTransaction] | None = [] if target.unknown else None
    answer = _PartitionAnswer(
        partition_index=target.key.partition, error_code=error, high_watermark=-1, aborted_transactions=aborted, records=b""
    )
    if error in _NEWER_LEADER and target.topic is not None and context.version >= _NAMES_LEADERS:
        partition = target.topic.partitions[target.key.partition]
        answer.current_leader = _PartitionAnswer.LeaderIdAndEpoch(
            leader_id=partition.leader, leader_epoch=partition.leader_epoch
        )
    return answer


def _found(fetch: _Fetch, target: FetchTarget, partition: Partition, left: int) -> _PartitionAnswer:
    """Answer with records, or with the replica or the epoch that the client has to know first. left: bytes of max_bytes."""
    answer = _PartitionAnswer(
        partition_index=target.key.partition,
        high_watermark=partition.log.high_watermark,
        last_stable_offset=partition.log.last_stable_offset,
        log_start_offset=partition.log.log_start_offset,
        preferred_read_replica=target.preferred_replica,
        aborted_transactions=[] if fetch.request.isolation_level == READ_COMMITTED else None,
        records=b"",
    )
    if target.diverging is not None:
        answer.diverging_epoch = _PartitionAnswer.EpochEndOffset(
            epoch=target.diverging.epoch, end_offset=target.diverging.offset
        )
    elif target.preferred_replica == -1:
        limit = max(min(target.wanted.partition_max_bytes, left), 0)
        answer.records = _read(fetch.context, target, partition.log, limit, first=left == fetch.max_bytes)
    return answer


def _read(context: RequestContext, target: FetchTarget, log: PartitionLog, limit: int, *, first: bool) -> Buffer:
    """Read up to `limit` bytes, in a format that the version can read. first: the answer has no records before these."""
    offset, end = target.wanted.fetch_offset, target.end
    if context.version >= 3:
        whole = log.first_size(offset, end)
        if whole > limit:
            limit = whole if first else 0
    data = log.read(offset, limit, end)
    readable_magic = 0 if context.version < 2 else 1 if context.version < 4 else 2
    if context.cluster.profile.magic <= readable_magic:
        return data
    return down_convert(data, readable_magic, offset)

"""JoinGroup 0-9: become a member of a classic group, or take part in its next generation."""

from __future__ import annotations

from functools import partial

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from mockbroker.broker.answers import Answer, when_complete
from mockbroker.broker.context import RequestContext
from mockbroker.groups.classic_member import Joined
from mockbroker.groups.classic_protocol import Join

__all__ = ["handle"]


_REBALANCE_TIMEOUT = 1
_KNOWN_ID = 4
_NULL_PROTOCOL = 7
_SKIP_ASSIGNMENT = 9
"""Versions of the API that brought them."""


def handle(context: RequestContext, request: JoinGroupRequest, now: float) -> Answer:
    error = _refusal(context, request)
    if error is not None:
        return _response(context, Joined(request.member_id, error))
    groups, classic = context.groups, context.groups.classic
    group = groups.find_of(classic, request.group_id)
    if group is None and request.member_id:
        return _response(context, Joined(request.member_id, ErrorCode.UNKNOWN_MEMBER_ID))
    group = group or groups.create(classic, request.group_id, now)
    joined = classic.join(group, _join(context, request), now)
    return when_complete(joined, partial(_response, context))


def _refusal(context: RequestContext, request: JoinGroupRequest) -> ErrorCode | None:
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    config = context.cluster.config
    shortest, longest = int(config["group.min.session.timeout.ms"]), int(config["group.max.session.timeout.ms"])
    if not shortest <= request.session_timeout_ms <= longest:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return context.group_error(request.group_id)


def _join(context: RequestContext, request: JoinGroupRequest) -> Join:
    own_timeout = context.version >= _REBALANCE_TIMEOUT
    return Join(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=context.header.client_id or "",
        client_host=f"/{context.client.host}",  # as Java shows an address without a name
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if own_timeout else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols={protocol.name: protocol.metadata for protocol in request.protocols},
        needs_known_id=context.version >= _KNOWN_ID,
        can_skip_assignment=context.version >= _SKIP_ASSIGNMENT,
    )


def _response(context: RequestContext, joined: Joined) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=joined.error,
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol if context.version >= _NULL_PROTOCOL else joined.protocol or "",
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponse.Member(member_id=member.id, group_instance_id=member.instance_id, metadata=member.metadata)
            for member in joined.members
        ],
    )

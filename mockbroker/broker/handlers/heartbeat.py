"""Heartbeat 0-4: keep the session of a member of a classic group, and tell it if it has to rejoin."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


def handle(context: RequestContext, request: HeartbeatRequest, now: float) -> Answer:
    return HeartbeatResponse(error_code=_keep(context, request, now) or ErrorCode.NONE)


def _keep(context: RequestContext, request: HeartbeatRequest, now: float) -> ErrorCode | None:
    error = context.group_error(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    if error is not None:
        return error
    group = context.groups.find_of(context.groups.classic, request.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    heartbeat = context.groups.classic.heartbeat
    return heartbeat(group, request.member_id, request.group_instance_id, request.generation_id, now)

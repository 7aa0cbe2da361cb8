"""SyncGroup 0-5: take the assignments from the leader of a classic group, and give each member its own."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from mockbroker.broker.answers import Answer, when_complete
from mockbroker.broker.context import RequestContext
from mockbroker.groups.classic_member import Synced
from mockbroker.groups.classic_protocol import Sync

__all__ = ["handle"]


_NEEDS_PROTOCOL = 5
"""Version of the API since which a member has to name its protocol (KIP-559)."""


def handle(context: RequestContext, request: SyncGroupRequest, now: float) -> Answer:
    error = _refusal(context, request)
    if error is not None:
        return _response(Synced(error))
    group = context.groups.find_of(context.groups.classic, request.group_id)
    if group is None:
        return _response(Synced(ErrorCode.UNKNOWN_MEMBER_ID))
    sync = Sync(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments={one.member_id: one.assignment for one in request.assignments},
    )
    return when_complete(context.groups.classic.sync(group, sync, now), _response)


def _refusal(context: RequestContext, request: SyncGroupRequest) -> ErrorCode | None:
    if context.version >= _NEEDS_PROTOCOL and None in (request.protocol_type, request.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return context.group_error(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID


def _response(synced: Synced) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=synced.error,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )

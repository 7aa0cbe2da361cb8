"""LeaveGroup 0-5: remove a member from a classic group, or from version 3 several, also by their instance ids (KIP-345)."""

from __future__ import annotations

from collections.abc import Sequence

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.groups.classic_protocol import Leaver

__all__ = ["handle"]


_SEVERAL_MEMBERS = 3
"""Version of the API with several members."""


def handle(context: RequestContext, request: LeaveGroupRequest, now: float) -> Answer:
    error = context.group_error(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    if error is not None:
        return LeaveGroupResponse(error_code=error)
    if context.version < _SEVERAL_MEMBERS:
        (error,) = _leave(context, request.group_id, [Leaver(request.member_id, None)], now)
        return LeaveGroupResponse(error_code=error or ErrorCode.NONE)
    leavers = [Leaver(member.member_id, member.group_instance_id) for member in request.members]
    errors = _leave(context, request.group_id, leavers, now)
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.MemberResponse(
                member_id=leaver.member_id, group_instance_id=leaver.instance_id, error_code=error or ErrorCode.NONE
            )
            for leaver, error in zip(leavers, errors, strict=True)
        ]
    )


def _leave(context: RequestContext, group_id: str, leavers: Sequence[Leaver], now: float) -> Sequence[ErrorCode | None]:
    group = context.groups.find_of(context.groups.classic, group_id)
    if group is None:
        return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers)
    return context.groups.classic.leave(group, leavers, now)

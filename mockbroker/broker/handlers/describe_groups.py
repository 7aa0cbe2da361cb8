"""DescribeGroups 0-6: state and members of classic groups, with metadata while a group is stable, and permissions if asked."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.groups.classic_group import ClassicGroup, ClassicGroupState

__all__ = ["handle"]


_Described = DescribeGroupsResponse.DescribedGroup

_NOT_FOUND = 6
"""Version of the API that tells a missing group from a dead one (KIP-1043)."""

# Operations on a group as bits, by the number of the ACL operation. A broker without an authorizer allows all of them.
_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS = (1 << operation for operation in (3, 6, 8, 10, 11))


def handle(context: RequestContext, request: DescribeGroupsRequest, now: float) -> Answer:
    return DescribeGroupsResponse(
        groups=[_describe(context, group_id, request.include_authorized_operations) for group_id in request.groups]
    )


def _describe(context: RequestContext, group_id: str, with_operations: bool) -> _Described:
    error = context.group_error(group_id)
    if error is not None:
        return _Described(group_id=group_id, error_code=error, group_state="")
    group = context.groups.find_of(context.groups.classic, group_id)
    described = _missing(context, group_id) if group is None else _present(context, group)
    if with_operations and not described.error_code:
        described.authorized_operations = _operations(context)
    return described


def _missing(context: RequestContext, group_id: str) -> _Described:
    described = _Described(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
    if context.version >= _NOT_FOUND:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = f"Group {group_id} not found."
    return described


def _present(context: RequestContext, group: ClassicGroup) -> _Described:
    stable = group.state is ClassicGroupState.STABLE
    syncing = group.state is ClassicGroupState.COMPLETING_REBALANCE and context.cluster.profile.version < _COMPLETING_SINCE
    return _Described(
        group_id=group.id,
        group_state="AwaitingSync" if syncing else group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=group.protocol or "" if stable else "",
        members=[
            _Described.DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=group.metadata(member) if stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


_COMPLETING_SINCE = (1, 1)
"""Broker version since which the state is called CompletingRebalance."""


def _operations(context: RequestContext) -> int:
    """Authorized operations on a group. Groups have had configurations of their own since 4.0 (KIP-848)."""
    configs = _DESCRIBE_CONFIGS | _ALTER_CONFIGS if context.cluster.profile.version >= (4,) else 0
    return _READ | _DELETE | _DESCRIBE | configs

"""ListGroups 0-5: the groups that this broker coordinates, filtered by state from version 4 and by type from version 5."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


def handle(context: RequestContext, request: ListGroupsRequest, now: float) -> Answer:
    if context.injected is not None:
        return ListGroupsResponse(error_code=context.injected.error)
    states, types = _wanted(request.states_filter), _wanted(request.types_filter)
    return ListGroupsResponse(
        error_code=ErrorCode.NONE,
        groups=[
            ListGroupsResponse.ListedGroup(
                group_id=group.id,
                protocol_type=group.protocol_type or "",
                group_state=group.state_name,
                group_type=group.type,
            )
            for group in context.groups
            if context.cluster.coordinator(group.id) is context.broker
            and (not states or group.state_name.lower() in states)
            and (not types or group.type.lower() in types)
        ],
    )


def _wanted(names: list[str]) -> set[str]:
    return {name.lower() for name in names}

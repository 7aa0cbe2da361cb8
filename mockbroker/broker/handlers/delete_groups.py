"""DeleteGroups 0-3: delete groups that have no members, with their offsets (KIP-229)."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


def handle(context: RequestContext, request: DeleteGroupsRequest, now: float) -> Answer:
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        error = context.group_error(group_id) or context.groups.delete(group_id)
        results.append(DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=error or ErrorCode.NONE))
    return DeleteGroupsResponse(results=results)

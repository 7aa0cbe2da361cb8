"""ListPartitionReassignments 0: none is ever going on, since partitions move at once."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from mockbroker.answers import Answer
from mockbroker.call import Call

__all__ = ["handle"]


def handle(call: Call, request: ListPartitionReassignmentsRequest, now: float) -> Answer:
    error = call.injected.error if call.injected is not None else call.controller_error()
    if error is not None:
        return ListPartitionReassignmentsResponse(error_code=error, error_message=error.text)
    return ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None)

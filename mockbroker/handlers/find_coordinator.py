"""FindCoordinator 0-6: the broker that coordinates a group or a transactional id, several at once from version 4 (KIP-699).

Left out: share groups (refused).
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from mockbroker.call import Answer, Call

__all__ = ["REQUEST", "handle"]

REQUEST = FindCoordinatorRequest

_Coordinator = FindCoordinatorResponse.Coordinator
_KEY_TYPES = (0, 1)  # group, transaction


def handle(call: Call, request: FindCoordinatorRequest, now: float) -> Answer:
    if call.version >= 4:
        return FindCoordinatorResponse(coordinators=[_find(call, key, request.key_type) for key in request.coordinator_keys])
    found = _find(call, request.key, request.key_type)
    return FindCoordinatorResponse(
        error_code=found.error_code, error_message=found.error_message, node_id=found.node_id, host=found.host, port=found.port
    )


def _find(call: Call, key: str, key_type: int) -> _Coordinator:
    broker = call.cluster.coordinator(key)
    error = call.injected.error if call.injected is not None else ErrorCode.NONE
    if key_type not in _KEY_TYPES:
        error = ErrorCode.INVALID_REQUEST
    elif broker is None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error or broker is None:
        message = error.text if call.version < 4 else ""
        return _Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message)
    message = "NONE" if call.version < 4 else ""  # Kafka's own inconsistency
    return _Coordinator(key=key, node_id=broker.id, host=broker.host, port=broker.port, error_message=message)

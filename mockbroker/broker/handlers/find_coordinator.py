"""FindCoordinator 0-6: the broker that coordinates a group or a transactional id, several at once from version 4 (KIP-699).

The first request creates the internal topic whose leaders are the coordinators. Left out: share groups (refused).
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.state.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

__all__ = ["handle"]


_Coordinator = FindCoordinatorResponse.Coordinator
_SHARE = 2
_TOPICS = {0: OFFSETS_TOPIC, 1: TRANSACTIONS_TOPIC}
"""Internal topic that keeps each type of key."""

_SEVERAL_KEYS = 4
"""Version of the API with several keys (KIP-699)."""

# Kafka's messages with these errors.
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
_NOT_AVAILABLE = "The coordinator is not available."


def handle(context: RequestContext, request: FindCoordinatorRequest, now: float) -> Answer:
    if context.version >= _SEVERAL_KEYS:
        return FindCoordinatorResponse(coordinators=[_find(context, key, request.key_type) for key in request.coordinator_keys])
    found = _find(context, request.key, request.key_type)
    return FindCoordinatorResponse(
        error_code=found.error_code, error_message=found.error_message, node_id=found.node_id, host=found.host, port=found.port
    )


def _find(context: RequestContext, key: str, key_type: int) -> _Coordinator:
    alone = context.version < _SEVERAL_KEYS
    if key_type not in _TOPICS:
        return _refusal(key, ErrorCode.INVALID_REQUEST, "" if key_type == _SHARE and not alone else _MALFORMED)
    if context.injected is not None:
        return _refusal(key, context.injected.error, context.injected.error.text if alone else "")
    broker = context.cluster.coordinator(key, _TOPICS[key_type])
    if broker is None:
        return _refusal(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOT_AVAILABLE if alone else "")
    message = "NONE" if alone else ""  # as Kafka has it
    return _Coordinator(key=key, node_id=broker.id, host=broker.host, port=broker.port, error_message=message)


def _refusal(key: str, error: ErrorCode, message: str) -> _Coordinator:
    return _Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message)

"""InitProducerId 0-6: a new producer id for an idempotent producer. As in Kafka, an id that it had before does not matter.

Left out: transactions. A transactional id is answered with TRANSACTIONAL_ID_AUTHORIZATION_FAILED: of the errors that Kafka
itself gives here, the one that all clients take as final. librdkafka tries again after most others until its time is over.
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


def handle(context: RequestContext, request: InitProducerIdRequest, now: float) -> Answer:
    if context.injected is not None:
        return InitProducerIdResponse(error_code=context.injected.error, producer_epoch=-1)
    error = _refusal(request)
    if error is not None:
        return InitProducerIdResponse(error_code=error, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=context.cluster.next_producer_id(), producer_epoch=0)


def _refusal(request: InitProducerIdRequest) -> ErrorCode | None:
    if request.transactional_id == "" or (request.producer_id == -1) != (request.producer_epoch == -1):
        return ErrorCode.INVALID_REQUEST
    return None if request.transactional_id is None else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

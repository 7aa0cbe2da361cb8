"""DescribeCluster 0-2: the cluster's id, its controller and its brokers, from version 2 with stopped brokers if asked."""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.authorized import CLUSTER_OPERATIONS
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


_BROKERS = 1
_CONTROLLERS = 2


def handle(context: RequestContext, request: DescribeClusterRequest, now: float) -> Answer:
    if context.injected is not None:
        return _refusal(context.injected.error, context.injected.error.text)
    if request.endpoint_type == _CONTROLLERS:
        reason = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return _refusal(ErrorCode.MISMATCHED_ENDPOINT_TYPE, reason)
    if request.endpoint_type != _BROKERS:
        return _refusal(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}")
    cluster = context.cluster
    response = DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        controller_id=-1 if cluster.brokers.controller is None else cluster.brokers.controller.id,
        brokers=[
            DescribeClusterResponse.Broker(
                broker_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack, is_fenced=not broker.online
            )
            for broker in cluster.brokers.values()
            if broker.online or request.include_fenced_brokers
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _refusal(error: ErrorCode, message: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error, error_message=message, cluster_id="")

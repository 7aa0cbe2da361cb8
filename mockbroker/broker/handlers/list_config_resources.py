"""ListConfigResources 0-1: the resources with a configuration: topics, brokers and their loggers (KIP-1142).

Left out: client metrics and groups, which have no configuration here.
"""

from __future__ import annotations

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.config_changes import ResourceType
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


_BROKER_LOGGER, _CLIENT_METRICS, _GROUP = 8, 16, 32


def handle(context: RequestContext, request: ListConfigResourcesRequest, now: float) -> Answer:
    if context.injected is not None:
        return ListConfigResourcesResponse(error_code=context.injected.error)
    brokers = [str(broker.id) for broker in context.cluster.brokers.online()]
    named: dict[int, list[str]] = {
        ResourceType.TOPIC: list(context.cluster.topics),
        ResourceType.BROKER: brokers,
        _BROKER_LOGGER: brokers,
        _CLIENT_METRICS: [],
        _GROUP: [],
    }
    wanted = (request.resource_types or list(named)) if context.version >= 1 else [_CLIENT_METRICS]
    if not set(wanted) <= named.keys():
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
            for kind in named
            if kind in wanted
            for name in named[kind]
        ]
    )

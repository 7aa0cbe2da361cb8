"""AlterConfigs 0-2: replace the whole configuration of topics and brokers.

Left out: quotas, alter policies, loggers.
"""

from __future__ import annotations

from kafkawire.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.config_changes import Change, Operation, change_configs
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


def handle(context: RequestContext, request: AlterConfigsRequest, now: float) -> Answer:
    response = AlterConfigsResponse()
    for asked in request.resources:
        changes = [Change(config.name, Operation.SET, config.value) for config in asked.configs]
        error, message = change_configs(
            context, asked.resource_type, asked.resource_name, changes, replace=True, validate_only=request.validate_only
        )
        response.responses.append(
            AlterConfigsResponse.Resource(
                error_code=error,
                error_message=message,
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
            )
        )
    return response

"""IncrementalAlterConfigs 0-1: set, delete, append to or subtract from single configurations of topics and brokers.

Left out: alter policies, loggers, client metrics, groups.
"""

from __future__ import annotations

from collections import Counter

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from mockbroker.broker.answers import Answer
from mockbroker.broker.config_changes import Change, Revised, change_configs
from mockbroker.broker.context import RequestContext

__all__ = ["handle"]


_Asked = IncrementalAlterConfigsRequest.AlterConfigsResource


def handle(context: RequestContext, request: IncrementalAlterConfigsRequest, now: float) -> Answer:
    often = Counter((asked.resource_type, asked.resource_name) for asked in request.resources)
    response = IncrementalAlterConfigsResponse()
    for asked in request.resources:
        if often[asked.resource_type, asked.resource_name] > 1:
            revised = Revised(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        else:
            revised = _change(context, asked, validate_only=request.validate_only)
        response.responses.append(
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=revised.error,
                error_message=revised.message,
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
            )
        )
    return response


def _change(context: RequestContext, asked: _Asked, *, validate_only: bool) -> Revised:
    changes = [Change(config.name, config.config_operation, config.value) for config in asked.configs]
    return change_configs(
        context, asked.resource_type, asked.resource_name, changes, replace=False, validate_only=validate_only
    )

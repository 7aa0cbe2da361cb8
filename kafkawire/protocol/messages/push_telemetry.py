"""PushTelemetry: a client's metrics for the cluster (KIP-714), as OpenTelemetry protobuf in `metrics`."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Bool, Bytes, Int8, Int16, Int32, Uuid

__all__ = ["PushTelemetryRequest", "PushTelemetryResponse"]


class PushTelemetryRequest(Request, key=72, versions="0", flexible="0+"):
    client_instance_id: Uuid = field()
    subscription_id: Int32 = field()
    terminating: Bool = field()
    compression_type: Int8 = field()
    metrics: Bytes = field()


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()

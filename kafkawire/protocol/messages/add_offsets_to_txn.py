"""AddOffsetsToTxn: announce that a transaction will commit offsets of a group (KIP-98)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String

__all__ = ["AddOffsetsToTxnRequest", "AddOffsetsToTxnResponse"]


class AddOffsetsToTxnRequest(Request, key=25, versions="0-4", flexible="3+"):
    transactional_id: String = field()
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    group_id: String = field()


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()

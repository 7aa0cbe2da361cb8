"""EndTxn: commit or abort a transaction (KIP-98). From version 5 the answer has the epoch of the next one (KIP-890)."""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Bool, Int16, Int32, Int64, String

__all__ = ["EndTxnRequest", "EndTxnResponse"]


class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+"):
    transactional_id: String = field()
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    committed: Bool = field()


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    producer_id: Int64 = field("5+", default=-1, ignorable=True)
    producer_epoch: Int16 = field("5+", default=-1, ignorable=True)

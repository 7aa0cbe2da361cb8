"""InitProducerId: a producer id and epoch, for idempotence and transactions (KIP-98).

Version 3 raises the epoch of an id that the producer has (KIP-360). Version 6 prepares two-phase commit (KIP-939) and is not
stable yet.
"""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Bool, Int16, Int32, Int64, String

__all__ = ["InitProducerIdRequest", "InitProducerIdResponse"]


class InitProducerIdRequest(Request, key=22, versions="0-6", stable="0-5", flexible="2+"):
    transactional_id: String | None = field(nullable="0+")
    transaction_timeout_ms: Int32 = field()
    producer_id: Int64 = field("3+", default=-1)
    producer_epoch: Int16 = field("3+", default=-1)
    enable2_pc: Bool = field("6+")
    keep_prepared_txn: Bool = field("6+")


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: Int32 = field(ignorable=True)
    error_code: Int16 = field()
    producer_id: Int64 = field(default=-1)
    producer_epoch: Int16 = field()
    ongoing_txn_producer_id: Int64 = field("6+", default=-1)
    ongoing_txn_producer_epoch: Int16 = field("6+", default=-1)

"""Records of `__transaction_state`: the state of each transactional id (KIP-98, KIP-890)."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, Int64, String

__all__ = ["TransactionLogKey", "TransactionLogValue"]


class TransactionLogKey(Message, key=0, versions="0"):
    transactional_id: String = field()


class TransactionLogValue(Message, key=0, versions="0-1", flexible="1+"):
    class PartitionsSchema(Struct):
        topic: String = field()
        partition_ids: list[Int32] = field()

    producer_id: Int64 = field()
    previous_producer_id: Int64 = field("1+", default=-1, tag=0)
    next_producer_id: Int64 = field("1+", default=-1, tag=1)
    producer_epoch: Int16 = field()
    next_producer_epoch: Int16 = field("1+", default=-1, tag=3)
    transaction_timeout_ms: Int32 = field()
    transaction_status: Int8 = field()
    transaction_partitions: list[PartitionsSchema] | None = field(nullable="0+")
    transaction_last_update_timestamp_ms: Int64 = field()
    transaction_start_timestamp_ms: Int64 = field()
    client_transaction_version: Int16 = field("1+", tag=2)

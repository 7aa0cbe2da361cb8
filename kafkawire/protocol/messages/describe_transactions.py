"""DescribeTransactions: state, producer and partitions of transactions (KIP-664)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String

__all__ = ["DescribeTransactionsRequest", "DescribeTransactionsResponse"]


class DescribeTransactionsRequest(Request, key=65, versions="0", flexible="0+"):
    transactional_ids: list[String] = field()


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    class TransactionState(Struct):
        class TopicData(Struct):
            topic: String = field()
            partitions: list[Int32] = field()

        error_code: Int16 = field()
        transactional_id: String = field()
        transaction_state: String = field()
        transaction_timeout_ms: Int32 = field()
        transaction_start_time_ms: Int64 = field()
        producer_id: Int64 = field()
        producer_epoch: Int16 = field()
        topics: list[TopicData] = field()

    throttle_time_ms: Int32 = field()
    transaction_states: list[TransactionState] = field()

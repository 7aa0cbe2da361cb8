"""AddPartitionsToTxn: register partitions with the coordinator of a transaction before anything is written to them (KIP-98).

Clients use versions 0 to 3. Version 4 carries many transactions, for use among brokers (KIP-890).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, Int64, String

__all__ = [
    "AddPartitionsToTxnRequest",
    "AddPartitionsToTxnResponse",
    "AddPartitionsToTxnTopic",
    "AddPartitionsToTxnTopicResult",
]


class AddPartitionsToTxnTopic(Struct):
    name: String = field()
    partitions: list[Int32] = field()


class AddPartitionsToTxnRequest(Request, key=24, versions="0-5", flexible="3+"):
    class Transaction(Struct):
        transactional_id: String = field()
        producer_id: Int64 = field()
        producer_epoch: Int16 = field()
        verify_only: Bool = field()
        topics: list[AddPartitionsToTxnTopic] = field()

    transactions: list[Transaction] = field("4+")
    v3_and_below_transactional_id: String = field("0-3")
    v3_and_below_producer_id: Int64 = field("0-3")
    v3_and_below_producer_epoch: Int16 = field("0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field("0-3")


class AddPartitionsToTxnTopicResult(Struct):
    class PartitionResult(Struct):
        partition_index: Int32 = field()
        partition_error_code: Int16 = field()

    name: String = field()
    results_by_partition: list[PartitionResult] = field()


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+"):
    class Result(Struct):
        transactional_id: String = field()
        topic_results: list[AddPartitionsToTxnTopicResult] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("4+", ignorable=True)
    results_by_transaction: list[Result] = field("4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field("0-3")

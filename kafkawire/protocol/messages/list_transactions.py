"""ListTransactions: the transactions of a coordinator, by state and producer (KIP-664).

They can be filtered by duration from version 1 (KIP-994) and by a pattern for their ids from version 2 (KIP-1152).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String

__all__ = ["ListTransactionsRequest", "ListTransactionsResponse"]


class ListTransactionsRequest(Request, key=66, versions="0-2", flexible="0+"):
    state_filters: list[String] = field()
    producer_id_filters: list[Int64] = field()
    duration_filter: Int64 = field("1+", default=-1)
    transactional_id_pattern: String | None = field("2+", default=None, nullable="0+")


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    class TransactionState(Struct):
        transactional_id: String = field()
        producer_id: Int64 = field()
        transaction_state: String = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    unknown_state_filters: list[String] = field()
    transaction_states: list[TransactionState] = field()

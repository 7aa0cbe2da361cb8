"""Entries of a partition's index of aborted transactions, the `.txnindex` file beside a segment (KIP-98)."""

from kafkawire.protocol.schema import Message, field
from kafkawire.protocol.wire import Int64

__all__ = ["AbortedTxn"]


class AbortedTxn(Message, versions="0"):
    producer_id: Int64 = field()
    first_offset: Int64 = field()
    last_offset: Int64 = field()
    last_stable_offset: Int64 = field()

"""Isolation of reads (Kafka's FetchIsolation): how far into a log Fetch and ListOffsets may look."""

from __future__ import annotations

from mockbroker.state.log import PartitionLog

__all__ = ["READ_COMMITTED", "readable_end"]

READ_COMMITTED = 1
"""Isolation level of consumers that see no record of a transaction which is open or was aborted (KIP-98)."""

_CONSUMER = -1
"""Replica id of consumers; replicas and debugging tools have others."""


def readable_end(log: PartitionLog, replica_id: int, isolation_level: int) -> int:
    """Offset behind the last record that a request may see.

    For replicas that is the log end offset, for consumers the high watermark or, with READ_COMMITTED, the last stable offset.
    """
    if replica_id != _CONSUMER:
        return log.log_end_offset
    return log.last_stable_offset if isolation_level == READ_COMMITTED else log.high_watermark

"""The topics that brokers keep for themselves: who leads a partition of these is the coordinator of what is kept in it."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["INTERNAL_TOPICS", "OFFSETS_TOPIC", "TRANSACTIONS_TOPIC", "InternalTopic"]

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """How one of them is created."""

    prefix: str
    """Of the broker configurations that tell its size, and how many replicas have to be in sync."""
    configs: dict[str, str] = field(default_factory=dict)


INTERNAL_TOPICS = {
    OFFSETS_TOPIC: InternalTopic(
        "offsets.topic", {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
    ),
    TRANSACTIONS_TOPIC: InternalTopic(
        "transaction.state.log",
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "segment.bytes": "104857600",
            "unclean.leader.election.enable": "false",
        },
    ),
}

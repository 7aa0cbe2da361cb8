"""Internal topics: the leader of one of their partitions coordinates the groups or transactional ids that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["INTERNAL_TOPICS", "OFFSETS_TOPIC", "TRANSACTIONS_TOPIC", "InternalTopic"]

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """Settings with which an internal topic is created."""

    prefix: str
    """Prefix of the broker configurations for its partitions, replicas and in-sync replicas."""
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

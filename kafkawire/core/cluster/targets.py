"""Targets of requests: which broker a request is for, by its role in the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kafkawire.message import TopicPartition

__all__ = ["AnyBroker", "Controller", "Coordinator", "CoordinatorKind", "Leader", "OneBroker", "Target"]


class CoordinatorKind(IntEnum):
    """Kinds of coordinators, by the key types of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of a partition."""

    partition: TopicPartition

    def __str__(self) -> str:
        return f"{self.partition.topic} partition {self.partition.partition}"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The coordinator of a group, transactional id or share partition."""

    kind: CoordinatorKind
    key: str

    def __str__(self) -> str:
        return f"{self.kind.name.lower()} {self.key!r}"


@dataclass(frozen=True, slots=True)
class Controller:
    """The controller of the cluster; under KRaft a broker that forwards to it."""

    def __str__(self) -> str:
        return "the controller"


@dataclass(frozen=True, slots=True)
class AnyBroker:
    """Any broker, for what every broker can answer."""

    def __str__(self) -> str:
        return "any broker"


@dataclass(frozen=True, slots=True)
class OneBroker:
    """The broker of a node id."""

    node_id: int

    def __str__(self) -> str:
        return f"broker {self.node_id}"


Target = Leader | Coordinator | Controller | AnyBroker | OneBroker
